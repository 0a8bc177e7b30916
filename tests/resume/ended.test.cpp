// SPDX-License-Identifier: MIT
// Runs ended by a decision stay ended.
#include "resume/durable.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// Charges, fails, and is refunded.
struct Shop {
  Kit kit{};
  int charged = 0;
  int refunded = 0;

  [[nodiscard]] auto agent(RecoveryAction action) {
    AgentOptions options = kit.options();
    options.compensations["refund"] = [this](const EffectCall&) { ++refunded; };
    return TriageAgent{[this](const std::string&, Attempt& attempt) -> int {
                         attempt.effect("charge", [this] { ++charged; }, {.compensate = "refund"});
                         throw std::runtime_error("access_denied");
                       },
                       FailurePolicy().otherwise(always(std::move(action))), options};
  }
};

}  // namespace

TEST_CASE("an aborted run is not run again", "[ended]") {
  Shop shop;
  const auto agent = shop.agent(RecoveryAction::abort("not worth it"));
  CHECK_ERRC(Errc::aborted, agent.run_or_resume("r", "x"));
  for (int i = 0; i < 3; ++i) {
    const auto again = i == 0 ? agent.resume_run("r") : agent.run_or_resume("r", "x");
    CHECK_ERRC(Errc::aborted, again);
    CHECK_THAT(again.error().detail, ContainsSubstring("not worth it"));
    REQUIRE(again.error().failure());
    CHECK(again.error().failure()->type() == FailureType::access_denied);
    CHECK(again.error().failure()->text == "access_denied");
    CHECK(again.error().advice() == "only ResumeOptions::revive goes on");
  }
  CHECK(shop.charged == 1);
  CHECK(shop.refunded == 1);
  SECTION("unless it is revived") {
    CHECK_ERRC(Errc::aborted, agent.resume_run("r", {.revive = true}));
    CHECK(shop.charged == 2);
  }
  SECTION("unless run_or_resume is told to revive it") {
    CHECK_ERRC(Errc::aborted, agent.run_or_resume("r", "x", {.revive = true}));
    CHECK(shop.charged == 2);
  }
}

TEST_CASE("an abort that somebody decided is final and says who decided", "[ended]") {
  Kit kit;
  const TriageAgent agent{&fails_once, answers({asking()}), kit.options()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  CHECK_ERRC(Errc::aborted, agent.decide(token, RecoveryAction::abort("no"), {.who = "ana"}));
  for (const auto& again : {agent.run_or_resume("r", "x"), agent.resume_run("r")}) {
    CHECK_ERRC(Errc::aborted, again);
    CHECK_THAT(again.error().detail, ContainsSubstring("no") && ContainsSubstring("ana"));
  }
  CHECK(agent.resume_run("r", {.revive = true}).value() == 12);
}

TEST_CASE("run_or_resume leaves an escalated run alone, resume_run goes on with it", "[ended]") {
  Shop shop;
  const auto agent = shop.agent(RecoveryAction::escalate("look at this"));
  const auto first = agent.run_or_resume("r", "x");
  CHECK_ERRC(Errc::escalated, first);
  CHECK(first.error().detail == "look at this; the failure was: access_denied");
  CHECK(first.error().reason() == "look at this");
  CHECK(first.error().message() == first.error().detail);
  for (int i = 0; i < 3; ++i) {
    const auto again = agent.run_or_resume("r", "x");
    CHECK_ERRC(Errc::escalated, again);
    CHECK_THAT(again.error().detail, ContainsSubstring("look at this"));
    REQUIRE(again.error().failure());
    CHECK(again.error().reason() == "look at this (run \"r\" was escalated before)");
    CHECK(again.error().advice() == "resume_run or ResumeOptions::revive goes on");
  }
  CHECK(shop.charged == 1);
  CHECK(shop.refunded == 1);
  CHECK_ERRC(Errc::escalated, agent.resume_run("r"));
  CHECK(shop.charged == 2);
  CHECK_ERRC(Errc::escalated, agent.run_or_resume("r", "x", {.revive = true}));
  CHECK(shop.charged == 3);
}

TEST_CASE("an abort whose process died before it was carried out ends the run", "[ended]") {
  Shop shop;
  const auto agent = shop.agent(RecoveryAction::abort("not worth it"));
  CHECK_ERRC(Errc::aborted, agent.run("x", {.run_id = "r"}));
  // Only the records up to the action, so none about undoing.
  const JournalReading whole = shop.kit.store->read("r", {}).value();
  const auto store = MemoryStore::create();
  std::vector<Record> records;
  for (const Record& record : whole.records) {
    records.push_back(record);
    if (record.kind() == RecordKind::action_taken) break;
  }
  RunInfo info = whole.info;
  info.status = RunStatus::running;
  REQUIRE_OK(store->release(store->start(info, records).value()));
  const auto again = agent.run_or_resume("r", "x", {.run = {.store = store}});
  CHECK_ERRC(Errc::aborted, again);
  CHECK_THAT(again.error().detail, ContainsSubstring("not worth it"));
  CHECK(shop.charged == 1);
  CHECK(shop.refunded == 2);
  CHECK(store->run("r").value().status == RunStatus::aborted);
}

TEST_CASE("a fallback that is no value of the agent costs no token", "[ended]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{&fails_once, answers({asking()}), stored ? kit.options() : kit.bare()};
  const std::string token = token_of(agent.run("x"));
  const auto refused = agent.decide(token, RecoveryAction::fallback("many"));
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("fallback"));
  CHECK(agent.decide(token, RecoveryAction::fallback(7)).value() == 7);
}

TEST_CASE("a rollback to a checkpoint that is not there costs no token", "[ended]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{&fails_once, answers({asking()}), stored ? kit.options() : kit.bare()};
  const std::string token = token_of(agent.run("x", {.run_id = "r"}));
  for (const auto kind : {RollbackTarget::Kind::label, RollbackTarget::Kind::checkpoint}) {
    const auto refused =
        agent.decide(token, RecoveryAction::rollback({.kind = kind, .name = "r@99"}));
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("r@99"));
  }
  CHECK(agent.decide(token, RecoveryAction::rollback()).value() == 12);
}

TEST_CASE("an error that a callable returns keeps its code", "[ended]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.classifier = nullptr;
  const TriageAgent agent{[](const std::string&) -> Result<int> {
                            return Error{Errc::busy, "the other one has it"};
                          },
                          answers({RecoveryAction::escalate()}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::external_fault);
  const JournalReading reading = kit.store->read("r", {}).value();
  for (const Record& record : reading.records) {
    if (record.kind() != RecordKind::failure_classified) continue;
    CHECK(record.body().value().at("code").at("category") == "triage");
    CHECK(record.body().value().at("code").at("text") == "busy");
  }
}

namespace {

// Lives of a run whose process dies at once, or makes progress before it does.
struct Lives {
  Kit kit{};
  Journal journal{"r"};
  std::vector<Record> records{};

  Lives() {
    add(RecordKind::run_started, Json::object());
    add(RecordKind::attempt_started, {{"number", 1}});
  }
  void add(RecordKind kind, Json body) {
    records.push_back(journal.add(kind, kit.clock->wall_now(), std::move(body)));
  }
  void resumed() { add(RecordKind::resumed, {{"to", 0}, {"reason", "process_died"}}); }
  void step(const std::string& action) {
    records.push_back(journal.add_step({.action = action}, kit.clock->wall_now()));
  }
  void effect(const std::string& key) {
    add(RecordKind::effect_intended, {{"key", key}, {"generation", 1}});
    add(RecordKind::effect_completed, {{"key", key}, {"generation", 1}, {"result", 1}});
  }
  void state(int value) {
    records.push_back(journal.change_state({{"page", value}}, kit.clock->wall_now()));
  }
  // Checks that the folded journal counts as many crashes as the live one, and returns them.
  [[nodiscard]] int crashes() const {
    Journal folded("r");
    for (const Record& record : records) {
      std::string bytes;
      record.encode_body(bytes);
      folded.apply(Record(record.seq(), record.kind(), record.time(),
                          std::make_shared<const std::string>(bytes)));
    }
    CHECK(folded.crashes() == journal.crashes());
    return journal.crashes();
  }
};

}  // namespace

TEST_CASE("a run that gets on with every start is never quarantined", "[poison]") {
  Lives lives;
  const int way = GENERATE(0, 1, 2);
  for (int i = 0; i < 20; ++i) {
    lives.resumed();
    if (way == 0) lives.effect("effect " + std::to_string(i));
    if (way == 1) lives.step("step " + std::to_string(i));
    if (way == 2) lives.state(i);
    CHECK(lives.crashes() <= 1);
  }
}

TEST_CASE("a run that repeats itself before it dies is quarantined", "[poison]") {
  Lives lives;
  const int way = GENERATE(0, 1, 2, 3);
  for (int i = 0; i < 5; ++i) {
    lives.resumed();
    if (way >= 1) lives.step("first");
    if (way >= 2) lives.state(1);
    if (way == 3) lives.add(RecordKind::effect_intended, {{"key", "e"}, {"generation", 1}});
    CHECK(lives.crashes() == i + 1);
  }
}
