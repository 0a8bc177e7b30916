// SPDX-License-Identifier: MIT
// Continuing: after a crash, after an end without a result, with an existing id.
#include "run/agent_core.hpp"
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Records three pages and a label, then fails unless told to finish.
struct Crawler {
  std::shared_ptr<std::atomic<bool>> finishes = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::vector<std::string>> seen = std::make_shared<std::vector<std::string>>();

  std::string operator()(const std::string& task, Attempt& attempt) const {
    std::string start = task + " " + std::to_string(attempt.trajectory().size()) + " " +
                        attempt.state().json().dump();
    if (const Recovery* r = attempt.recovery()) {
      start +=
          " " + std::string(to_string(r->failure_type)) + "/" + r->reason + " " + r->checkpoint_id;
    }
    seen->push_back(start);
    if (*finishes) return "done after " + std::to_string(attempt.trajectory().size());
    for (int page = 1; page <= 3; ++page) {
      attempt.record_step({.action = "page"});
      attempt.update_state({{"page", page}});
      if (page == 2) static_cast<void>(attempt.checkpoint("two"));
    }
    throw std::runtime_error("timeout");
  }
};

// The state after a crash: the records up to and including `last`, without an owner.
void crash_at(MemoryStore& from, MemoryStore& to, Sequence last) {
  const JournalReading whole = from.read("r", {.first = 1, .last = last}).value();
  RunInfo info = whole.info;
  info.status = RunStatus::running;
  const Lease lease = to.start(info, whole.records).value();
  REQUIRE_OK(to.release(lease));
}

}  // namespace

TEST_CASE("run does not hand the result of one task to another, or of one agent to another",
          "[resume]") {
  Kit kit;
  const auto echo = [](const Json& task) { return Json{{"done", task}}; };
  const TriageAgent agent{echo, answers({RecoveryAction::escalate()}), kit.options()};
  const Json task = {{"order", 42}, {"rate", 1.5}};
  const Json first = agent.run(task, {.run_id = "r"}).value();
  CHECK(agent.run(task, {.run_id = "r"}).value() == first);

  const auto other = agent.run(Json{{"order", 43}}, {.run_id = "r"});
  CHECK_ERRC(Errc::conflict, other);
  CHECK_THAT(other.error().detail, ContainsSubstring("another task"));
  CHECK(agent.run_or_resume("r", Json{{"order", 43}}).value() == first);  // As documented.

  AgentOptions options = kit.options();
  SECTION("another name") { options.name = "stranger"; }
  SECTION("another version") { options.version = "2"; }
  SECTION("another contract") { options.contract.constraints = {"be polite"}; }
  const TriageAgent stranger{echo, answers({RecoveryAction::escalate()}), options};
  if (options.name != kit.options().name || options.version != "1" ||
      !options.contract.constraints.empty()) {
    CHECK_ERRC(Errc::conflict, stranger.run(task, {.run_id = "r"}));
  }
}

TEST_CASE("a task that cannot be compared gets no recorded result by run", "[resume]") {
  struct Opaque {};
  Kit kit;
  const TriageAgent agent{[](const Opaque&) { return 1; }, answers({RecoveryAction::escalate()}),
                          kit.options()};
  CHECK(agent.run(Opaque{}, {.run_id = "r"}).value() == 1);
  CHECK_ERRC(Errc::conflict, agent.run(Opaque{}, {.run_id = "r"}));
}

TEST_CASE("a run that ended without a result is resumed from its newest position", "[resume]") {
  Kit kit;
  const Crawler crawler;
  const TriageAgent agent{crawler, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  *crawler.finishes = true;
  CHECK(agent.resume_run("r").value() == "done after 3");
  CHECK(crawler.seen->back() == R"(site 3 {"page":3} timeout/escalated r@9)");
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
  CHECK(kit.log->count(EventKind::run_resumed) == 1);
}

TEST_CASE("a run is resumed from a label or an id, and unknown ones are errors", "[resume]") {
  Kit kit;
  const Crawler crawler;
  const TriageAgent agent{crawler, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  const auto missing = agent.resume_run("r", {.from = "no such label"});
  CHECK_ERRC(Errc::not_found, missing);
  CHECK_THAT(missing.error().detail, ContainsSubstring("no such label"));
  CHECK_ERRC(Errc::not_found, agent.resume_run("r", {.from = "other@4"}));
  CHECK_ERRC(Errc::escalated, agent.resume_run("r", {.from = "two"}));
  CHECK(crawler.seen->back() == R"(site 2 {"page":2} timeout/escalated r@7)");
  const CheckpointInfo first = kit.store->checkpoints("r").value().front();
  CHECK_ERRC(Errc::escalated, agent.resume_run("r", {.from = to_string(first.id)}));
  CHECK_THAT(crawler.seen->back(), ContainsSubstring(R"(site 1 {"page":1})"));
}

TEST_CASE("after a crash at any record, the run goes on from what is there", "[resume]") {
  Kit kit;
  const Crawler crawler;
  AgentOptions options = kit.options();
  const TriageAgent agent{crawler, answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  *crawler.finishes = true;
  const Sequence last = kit.store->run("r").value().last;
  for (Sequence at = 1; at <= last; ++at) {
    INFO("the newest record is " << at);
    const auto crashed = MemoryStore::create();
    crash_at(*kit.store, *crashed, at);
    const auto steps = crashed->latest("r").value().trajectory.size();
    const auto result = agent.resume_run("r", {.run = {.store = crashed}});
    REQUIRE_OK(result);
    CHECK(result.value() == "done after " + std::to_string(steps));
    if (at <= 9) CHECK_THAT(crawler.seen->back(), ContainsSubstring("crashed/process_died"));
    CHECK_FALSE(stored_journal(*crashed, "r").broken_at());
  }
}

TEST_CASE("a damaged newest record falls back to what is intact before it", "[resume]") {
  struct Damaging final : Observer {
    void on_event(const Event&) override {}
  };
  Kit kit;
  const Crawler crawler;
  const TriageAgent agent{crawler, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  // Records 8 (the third step) and later are lost, except the last one.
  const auto damaged = MemoryStore::create();
  JournalReading whole = kit.store->read("r", {}).value();
  std::erase_if(whole.records, [](const Record& r) { return r.seq() >= 8 && r.seq() <= 10; });
  REQUIRE_OK(damaged->start(whole.info, whole.records));
  REQUIRE_OK(damaged->release({.run = "r", .epoch = 1}));
  const auto result = agent.resume_run("r", {.run = {.store = damaged}});
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(crawler.seen->back(), ContainsSubstring(R"(site 2 {"page":2})"));
  REQUIRE_FALSE(result.error().failure()->notes.empty());
  CHECK_THAT(result.error().failure()->notes.front(), ContainsSubstring("record 8"));
  CHECK(kit.log->last(EventKind::run_resumed).number == 8);
  // What is recorded after the damage is valid from here on.
  CHECK_FALSE(stored_journal(*damaged, "r").broken_at());
  CHECK(damaged->latest("r").value().trajectory.size() == 5);
}

TEST_CASE("another fingerprint is a conflict unless it is accepted", "[resume]") {
  const bool may_start = GENERATE(false, true);
  Kit kit;
  const Crawler crawler;
  const FailurePolicy policy = answers({RecoveryAction::escalate()});
  const TriageAgent agent{crawler, policy, kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  AgentOptions changed = kit.options();
  FailurePolicy other = policy;
  std::string names;
  SECTION("name") { changed.name = names = "other"; }
  SECTION("version") {
    changed.version = "2";
    names = "the version (\"1\" then, \"2\" now)";
  }
  SECTION("policy") {
    other.on(FailureType::timeout, always(RecoveryAction::replan()));
    names = "the policy's strategies";
  }
  SECTION("condition") {
    other.when(exception_is("Odd"), always(RecoveryAction::replan()), "it is odd");
    names = "the policy's strategies";
  }
  SECTION("contract") {
    changed.contract.tools.push_back({.name = "http_get"});
    names = "the contract";
  }
  const TriageAgent second{crawler, other, changed};
  const auto refused = second.resume_run("r");
  CHECK_ERRC(Errc::conflict, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("accept_changed"));
  CHECK_THAT(refused.error().detail, ContainsSubstring("what differs: "));
  CHECK_THAT(refused.error().detail, ContainsSubstring(names));
  CHECK(kit.store->run("r").value().owned == false);  // The lease was released.
  CHECK_ERRC(Errc::conflict, second.run_or_resume("r", "site"));
  *crawler.finishes = true;
  const auto accepted =
      may_start ? second.run_or_resume("r", "site", {.accept_changed = true, .revive = true})
                : second.resume_run("r", {.accept_changed = true});
  CHECK(accepted.value() == "done after 3");
}

TEST_CASE("a text that becomes a subgoal instead of a constraint changes the fingerprint",
          "[resume]") {
  Kit kit;
  const auto options_with = [&](AgentContract contract) {
    AgentOptions options = kit.options();
    options.contract = std::move(contract);
    return options;
  };
  const FailurePolicy policy = answers({RecoveryAction::escalate()});
  const auto agent_with = [&](AgentContract contract) {
    return TriageAgent{
        [](int, Attempt& attempt) -> Result<int> { return attempt.fail({.text = "broken"}); },
        policy, options_with(std::move(contract))};
  };
  const AgentContract constraint{.constraints = {"report"}};
  CHECK_ERRC(Errc::escalated, agent_with(constraint).run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::conflict, agent_with({.subgoals = {"report"}}).resume_run("r"));
  CHECK_ERRC(Errc::conflict, agent_with({.tools = {{.name = "report"}}}).resume_run("r"));
  CHECK_ERRC(Errc::escalated, agent_with(constraint).resume_run("r"));

  // As a version wrote it that did not tell them apart.
  const detail::Fingerprint print = detail::fingerprint(policy, options_with(constraint));
  JournalReading reading = kit.store->read("r", {}).value();
  Json start = reading.records.front().body().value();
  start["fingerprint"] = print.older_whole;
  start["parts"]["contract"] = print.older_contract;
  reading.records.front() = Record(1, RecordKind::run_started, reading.records.front().time(),
                                   std::make_shared<const Json>(std::move(start)));
  const auto older = MemoryStore::create();
  const Lease lease = older->start(reading.info, reading.records).value();
  REQUIRE_OK(older->append(lease, {}, RunStatus::escalated));
  REQUIRE_OK(older->release(lease));
  CHECK_ERRC(Errc::escalated, agent_with(constraint).resume_run("r", {.run = {.store = older}}));
}

TEST_CASE("other numbers in the policy are no reason to refuse a run, another plan is",
          "[resume]") {
  Kit kit;
  const auto agent_with = [&](Strategy strategy) {
    return TriageAgent{[](int, Attempt& attempt) -> Result<int> {
                         return attempt.fail({.text = "no", .type = FailureType::timeout});
                       },
                       FailurePolicy().on(FailureType::timeout, std::move(strategy)),
                       kit.options()};
  };
  const auto retrying = [](int attempts, const char* delay) {
    return Strategy("retry(max_attempts=" + std::to_string(attempts) + ", delay=" + delay + ")",
                    [](const FailureContext&) { return RecoveryAction::escalate(); });
  };
  CHECK_ERRC(Errc::escalated, agent_with(retrying(3, "500ms")).run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::escalated, agent_with(retrying(12, "1m30s")).resume_run("r"));
  CHECK_ERRC(Errc::conflict, agent_with({"mine(v2)", retrying(3, "1s")}).resume_run("r"));
  CHECK_ERRC(Errc::escalated, agent_with({"mine(v2)", retrying(3, "1s")}).run(1, {.run_id = "s"}));
  CHECK_ERRC(Errc::conflict, agent_with({"mine(v3)", retrying(3, "1s")}).resume_run("s"));
}

TEST_CASE("a run id that exists: finished, unfinished, owned", "[resume]") {
  Kit kit;
  const Crawler crawler;
  const TriageAgent agent{crawler, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("site", {.run_id = "r"}));
  const auto unfinished = agent.run("site", {.run_id = "r"});
  CHECK_ERRC(Errc::conflict, unfinished);
  CHECK_THAT(unfinished.error().detail, ContainsSubstring("resume_run"));
  const Lease owner = kit.store->acquire("r").value();
  CHECK_ERRC(Errc::busy, agent.run("site", {.run_id = "r"}));
  CHECK_ERRC(Errc::busy, agent.resume_run("r"));
  CHECK_ERRC(Errc::busy, agent.run_or_resume("r", "site"));
  REQUIRE_OK(kit.store->release(owner));
  *crawler.finishes = true;
  CHECK_ERRC(Errc::escalated, agent.run_or_resume("r", "another task"));
  CHECK(agent.run_or_resume("r", "another task", {.revive = true}).value() == "done after 3");
  CHECK_THAT(crawler.seen->back(), ContainsSubstring("site "));  // The stored task wins.
  const std::size_t calls = crawler.seen->size();
  CHECK(agent.run("site", {.run_id = "r"}).value() == "done after 3");
  CHECK(crawler.seen->size() == calls);
  CHECK_ERRC(Errc::not_found, agent.run_or_resume("newer", "site", {.from = "label"}));
  CHECK(agent.run_or_resume("new", "site", {.run = {.label = "l"}}).value() == "done after 0");
  CHECK(kit.store->run("new").value().label == "l");
}

TEST_CASE("resuming what is not there is not_found", "[resume]") {
  Kit kit;
  const TriageAgent agent{Crawler{}, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::not_found, agent.resume_run("nothing"));
  CHECK_ERRC(Errc::invalid_argument, agent.resume_run("bad id"));
  const TriageAgent storeless{Crawler{}, answers({RecoveryAction::escalate()}), kit.bare()};
  CHECK_ERRC(Errc::not_found, storeless.resume_run("r"));
}

TEST_CASE("usage, history and limits go on after a resume", "[resume]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_tokens = 250;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                            attempt.record_usage({.input_tokens = 100});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::escalate("a"), RecoveryAction::retry()}),
                          options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  const auto result = agent.resume_run("r");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("max_tokens (250)"));
  CHECK(result.error().failure()->usage.input_tokens == 300);
  CHECK(result.error().failure()->attempt_number == 3);
  CHECK(result.error().failure()->history.size() == 2);
}

TEST_CASE("without automatic checkpoints a resume still loses nothing", "[resume]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.auto_checkpoint = false;
  const auto seen = std::make_shared<std::vector<std::size_t>>();
  const TriageAgent agent{[seen](const std::string&, Attempt& attempt) -> int {
                            seen->push_back(attempt.trajectory().size());
                            attempt.record_step({.action = "s"});
                            attempt.update_state({{"k", 1}});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x", {.run_id = "r"}));
  CHECK(kit.store->checkpoints("r").value().empty());
  CHECK_ERRC(Errc::escalated, agent.resume_run("r"));
  CHECK(*seen == std::vector<std::size_t>{0, 1});
  CHECK(stored_journal(*kit.store, "r").trajectory().size() == 2);
}

namespace {

// Cannot read one record, of the run "r".
struct Damaged final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  Sequence lost = 0;
  Result<JournalReading> read(const RunId& run, SequenceRange range) override {
    return without(ForwardingStore::read(run, range));
  }
  Result<JournalReading> read_newest(const RunId& run) override {
    return without(ForwardingStore::read_newest(run));
  }
  [[nodiscard]] Result<JournalReading> without(Result<JournalReading> reading) const {
    if (!reading) return reading;
    std::erase_if(reading.value().records, [this](const Record& r) { return r.seq() == lost; });
    return reading;
  }
};

}  // namespace

TEST_CASE("a decision closes no hole that came later, and one that it knew of", "[resume]") {
  Kit kit;
  const auto store = std::make_shared<Damaged>(kit.store);
  AgentOptions options = kit.with(store);
  std::vector<Json> began;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            began.push_back(attempt.state().json());
                            const std::string number = std::to_string(attempt.number());
                            for (const char* part : {"a", "b"}) {
                              attempt.record_step({.action = "work"});
                              attempt.update_state({{part + number, true}});
                            }
                            throw std::runtime_error("access_denied");
                          },
                          answers({RecoveryAction::suspend("may I?"), RecoveryAction::escalate()}),
                          options};
  const auto waiting = agent.run("x", {.run_id = "r"});
  const std::string token = waiting.error().suspension()->token;
  Sequence second = 0;
  const JournalReading reading = kit.store->read("r", {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() == RecordKind::state_changed) second = record.seq();
  }
  const bool known = GENERATE(true, false);
  const Json whole{{"a1", true}, {"b1", true}};
  const Json intact{{"a1", true}};
  if (known) store->lost = second;
  CHECK_ERRC(Errc::escalated, agent.decide(token, RecoveryAction::resume()));
  CHECK(began.back() == (known ? intact : whole));
  store->lost = second;
  CHECK_ERRC(Errc::escalated, agent.resume_run("r"));
  CHECK(began.back() == (known ? Json{{"a1", true}, {"a2", true}, {"b2", true}} : intact));
  CHECK(kit.log->last(EventKind::run_resumed).number == (known ? 0 : second));
}
