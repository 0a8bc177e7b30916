// SPDX-License-Identifier: MIT
// Branches of runs, and runs that kill their process.
#include "resume/durable.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// All bytes of a run's journal.
std::string bytes_of(CheckpointStore& store, const RunId& run) {
  std::string bytes;
  const JournalReading reading = store.read(run, {}).value();
  for (const Record& record : reading.records) {
    bytes += std::to_string(record.seq()) + ":" + std::to_string(static_cast<int>(record.kind()));
    record.encode_body(bytes);
  }
  return bytes;
}

Json report(const std::string& task, Attempt& attempt) {
  static std::atomic<int> charges{0};
  const int receipt = attempt.effect("charge", [] { return ++charges; });
  attempt.record_step({.action = "look"});
  attempt.update_state({{"looked", static_cast<int>(attempt.trajectory().size())}});
  return Json{{"task", task},
              {"receipt", receipt},
              {"steps", attempt.trajectory().size()},
              {"state", attempt.state().json()},
              {"reason", attempt.recovery() != nullptr ? attempt.recovery()->reason : ""}};
}

}  // namespace

TEST_CASE("a branch does not undo the effects of its origin", "[fork]") {
  Kit kit;
  std::vector<std::string> world;
  AgentOptions options = kit.options();
  options.compensations["refund"] = [&](const EffectCall& call) {
    world.push_back("undo " + call.key);
  };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            for (const char* key : {"a", "b"}) {
                              attempt.effect(key,
                                             [&] { world.push_back(std::string("do ") + key); },
                                             {.compensate = "refund"});
                              if (attempt.run_id() == "origin") return;
                            }
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::abort()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "origin"}));
  const CheckpointId parent = kit.store->latest("origin").value().info.id;
  CHECK_ERRC(Errc::aborted, agent.fork(to_string(parent), {.run = {.run_id = "branch"}}));
  CHECK(world == std::vector<std::string>{"do a", "do b", "undo b"});
}

TEST_CASE("a fork begins at a checkpoint of another run and leaves that as it is", "[fork]") {
  Kit kit;
  const TriageAgent agent{&report, answers({RecoveryAction::retry()}), kit.options()};
  const Json first = agent.run("x", {.run_id = "origin"}).value();
  const std::string before = bytes_of(*kit.store, "origin");
  const auto checkpoints = kit.store->checkpoints("origin").value();
  const std::string parent = to_string(checkpoints.back().id);

  const Json second = agent
                          .fork(parent, {.label = "what if",
                                         .state = {{"rate", 2}},
                                         .who = "ana",
                                         .run = {.run_id = "branch"}})
                          .value();
  CHECK(second["receipt"] == first["receipt"]);
  CHECK(second["steps"] == 2);
  CHECK(second["state"] == Json{{"looked", 2}, {"rate", 2}});
  CHECK(second["reason"] == "forked");
  CHECK(bytes_of(*kit.store, "origin") == before);
  const Journal branch = stored_journal(*kit.store, "branch");
  CHECK(branch.forked() == Json{{"parent", parent}, {"who", "ana"}, {"edits", {{"rate", 2}}}});
  CHECK(kit.store->run("branch").value().label == "what if");
  CHECK(agent.run_or_resume("branch", "x").value() == second);

  SECTION("a label in use is refused, before anything is made") {
    const auto runs = kit.store->runs({}).value().size();
    CHECK_ERRC(Errc::conflict, agent.fork(parent, {.label = "what if"}));
    CHECK(kit.store->runs({}).value().size() == runs);
    CHECK_ERRC(Errc::conflict, agent.fork(parent, {.run = {.run_id = "branch"}}));
  }
  SECTION("the label of an ordinary run counts too") {
    CHECK(agent.run("y", {.label = "mine"}).has_value());
    CHECK_ERRC(Errc::conflict, agent.fork(parent, {.label = "mine"}));
  }
  SECTION("a branch can be forked again, without a label") {
    const auto of_branch = kit.store->checkpoints("branch").value();
    CHECK(agent.fork(to_string(of_branch.back().id)).value()["steps"] == 3);
  }
}

TEST_CASE("bad forks are refused", "[fork]") {
  Kit kit;
  const TriageAgent agent{&report, answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE(agent.run("x", {.run_id = "o"}));
  const std::string parent = to_string(kit.store->checkpoints("o").value().back().id);
  CHECK_ERRC(Errc::not_found, agent.fork("o@999"));
  CHECK_ERRC(Errc::not_found, agent.fork("nobody@1"));
  CHECK_ERRC(Errc::invalid_argument, agent.fork("o"));
  CHECK_ERRC(Errc::invalid_argument, agent.fork(parent, {.label = std::string(257, 'l')}));
  CHECK_ERRC(Errc::invalid_argument, agent.fork(parent, {.state = Json::array({1})}));
  CHECK_ERRC(Errc::invalid_argument, agent.fork(parent, {.run = {.run_id = "a/b"}}));
  AgentOptions options = kit.options();
  options.version = "2";
  const TriageAgent newer{&report, answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::conflict, newer.fork(parent));
  CHECK(newer.fork(parent, {.accept_changed = true}).has_value());
}

TEST_CASE("a branch may do something else, and is its new agent's from then on", "[fork]") {
  Kit kit;
  const TriageAgent agent{&report, answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE(agent.run("x", {.run_id = "o"}));
  const std::string parent = to_string(kit.store->checkpoints("o").value().back().id);
  AgentOptions options = kit.options();
  options.version = "2";
  const TriageAgent newer{&report, answers({RecoveryAction::retry()}), options};
  const auto made =
      newer.fork(parent, {.accept_changed = true, .task = Json("y"), .run = {.run_id = "branch"}});
  REQUIRE_OK(made);
  CHECK(made.value()["task"] == "y");
  CHECK(made.value()["steps"] == 2);
  CHECK(newer.resume_run("branch").value() == made.value());
  CHECK_ERRC(Errc::conflict, agent.resume_run("branch"));
  Json deep;
  for (int level = 0; level <= max_json_depth; ++level) deep = Json::array({std::move(deep)});
  CHECK_ERRC(Errc::invalid_argument, agent.fork(parent, {.task = deep}));
}

TEST_CASE("a what-if is told a hint, finds answers, and carries out nothing new", "[fork]") {
  Kit kit;
  int acts = 0;
  const TriageAgent agent{[&acts](const std::string& task, Attempt& attempt) {
                            const auto act = [&acts](const EffectCall&) { return ++acts; };
                            const int known = attempt.effect("known", {{"of", task}}, act);
                            const auto more = attempt.try_effect("more", act);
                            const std::string hint =
                                attempt.recovery() != nullptr ? attempt.recovery()->hint : "";
                            return Json{known, more ? Json(more.value()) : Json(), hint};
                          },
                          answers({}), kit.options()};
  REQUIRE_OK(agent.run("x", {.run_id = "origin"}));
  REQUIRE(acts == 2);
  const ForkOptions what_if{.hint = "look left", .refuse_new_effects = true};
  const auto same = agent.fork("origin@0", what_if);
  REQUIRE_OK(same);
  CHECK(same.value() == Json{1, 2, "look left"});  // As recorded.

  ForkOptions answered = what_if;
  answered.task = "y";  // An answer fits any arguments.
  answered.answers = {{"known", 40}};
  answered.run.run_id = "answered";
  CHECK(agent.fork("origin@0", answered).value() == Json{40, 2, "look left"});
  CHECK(stored_journal(*kit.store, "answered").start()["refuses_effects"] == true);

  REQUIRE_OK(kit.store->erase("answered"));
  const TriageAgent other{[&acts](const std::string&, Attempt& attempt) -> Result<int> {
                            return attempt.try_effect("another", [&acts] { return ++acts; });
                          },
                          answers({RecoveryAction::escalate()}), kit.options()};
  ForkOptions changed = what_if;
  changed.accept_changed = true;
  changed.run.run_id = "refused";
  CHECK_ERRC(Errc::escalated, other.fork("origin@0", changed));
  CHECK(acts == 2);
  CHECK(stored_journal(*kit.store, "refused").effect("another").status ==
        EffectState::Status::withdrawn);
}

TEST_CASE("a what-if carries out no effect of agents that are called in it", "[fork]") {
  Kit kit;
  int acts = 0;
  AgentOptions inner_options = kit.options();
  inner_options.name = "inner";
  inner_options.random = seeded_random(7);
  const bool own_store = GENERATE(true, false);
  if (own_store) inner_options.store = MemoryStore::create();
  const TriageAgent inner{[&acts](const std::string&, Attempt& attempt) -> Result<int> {
                            return attempt.try_effect("act", [&acts] { return ++acts; });
                          },
                          answers({RecoveryAction::escalate(), RecoveryAction::escalate()}),
                          inner_options};
  const TriageAgent outer{[&inner](const std::string& task, Attempt& attempt) {
                            const auto done = inner.run(task, {.parent = &attempt});
                            return Json(done ? "acted" : std::string(to_string(done.error().code)));
                          },
                          answers({}), kit.options()};
  CHECK(outer.run("x", {.run_id = "origin"}).value() == "acted");
  const std::size_t inner_runs = inner_options.store->runs({}).value().size();
  CHECK(outer.fork("origin@0", {.refuse_new_effects = true}).value() == "escalated");
  CHECK(acts == 1);
  if (own_store) CHECK(inner_options.store->runs({}).value().size() == inner_runs);
  CHECK(outer.fork("origin@0").value() == "acted");
  CHECK(acts == 2);
}

TEST_CASE("of two forks with one label one is made", "[fork]") {
  for (int round = 0; round < 50; ++round) {
    Kit kit;
    const TriageAgent agent{&report, answers({RecoveryAction::retry()}), kit.options()};
    REQUIRE(agent.run("x", {.run_id = "o"}));
    const std::string parent = to_string(kit.store->checkpoints("o").value().back().id);
    std::atomic<int> made{0};
    std::atomic<int> refused{0};
    const auto fork = [&] {
      const auto branch = agent.fork(parent, {.label = "b"});
      if (branch) ++made;
      if (!branch && branch.error().code == Errc::conflict) ++refused;
    };
    std::thread a(fork);
    std::thread b(fork);
    a.join();
    b.join();
    CHECK(made + refused == 2);
    CHECK(made <= 1);
    CHECK(kit.store->runs({.label = "b"}).value().size() == static_cast<std::size_t>(made));
  }
}

TEST_CASE("a branch and its origin write side by side", "[fork]") {
  Kit kit;
  const auto make = [&](bool inner) {
    return TriageAgent{
        [&kit, inner](const std::string& task, Attempt& attempt) -> int {
          attempt.record_step({.action = task});
          if (!inner || attempt.recovery() != nullptr) return 1;
          REQUIRE(attempt.checkpoint("here"));
          const auto at = kit.store->checkpoints("o").value().back().id;
          const TriageAgent other{[](const std::string&, Attempt& branch) {
                                    branch.record_step({.action = "branch"});
                                    return static_cast<int>(branch.trajectory().size());
                                  },
                                  answers({RecoveryAction::retry()}), kit.options()};
          const int steps = other.fork(to_string(at), {.accept_changed = true}).value();
          attempt.record_step({.action = "origin goes on"});
          return steps;
        },
        answers({RecoveryAction::retry()}), kit.options()};
  };
  CHECK(make(true).run("x", {.run_id = "o"}).value() == 2);
  CHECK(stored_journal(*kit.store, "o").trajectory().size() == 2);
}

// --- Poison.

TEST_CASE("a run whose process dies again and again is quarantined", "[poison]") {
  Kit kit;
  const auto make = [&](int crashes) {
    AgentOptions options = kit.options();
    options.max_crashes = crashes;
    return TriageAgent{&fails_once, answers({RecoveryAction::abort()}), options};
  };
  begin_and_die(kit, "r");
  die_while_resumed(kit, "r");
  die_while_resumed(kit, "r");
  SECTION("not before the third time") { CHECK(make(3).resume_run("r").has_value()); }
  SECTION("at the third time") {
    die_while_resumed(kit, "r");
    const auto refused = make(3).resume_run("r");
    CHECK_ERRC(Errc::conflict, refused);
    CHECK_THAT(refused.error().message(),
               ContainsSubstring("died 3 times") && ContainsSubstring("; find out why"));
    CHECK(kit.store->run("r").value().status == RunStatus::poisoned);
    CHECK(kit.store->runs({.status = RunStatus::poisoned}).value().size() == 1);
    CHECK_ERRC(Errc::conflict, make(3).run_or_resume("r", "x"));
    CHECK_ERRC(Errc::conflict, make(0).resume_run("r"));
    const auto revived = make(3).resume_run("r", {.revive = true});
    CHECK(revived.has_value());
    CHECK(kit.store->run("r").value().status == RunStatus::finished);
  }
  SECTION("never, if that is asked for") {
    for (int i = 0; i < 5; ++i) die_while_resumed(kit, "r");
    CHECK(make(0).resume_run("r").has_value());
  }
}

TEST_CASE("an attempt that ends in between starts the count anew", "[poison]") {
  Kit kit;
  begin_and_die(kit, "r");
  die_while_resumed(kit, "r");
  die_while_resumed(kit, "r");
  const TriageAgent failing{[](const std::string&) -> int { throw std::runtime_error("unknown"); },
                            answers({RecoveryAction::abort()}), kit.options()};
  CHECK_ERRC(Errc::aborted, failing.resume_run("r"));
  CHECK(stored_journal(*kit.store, "r").crashes() == 0);
}

TEST_CASE("a quarantine that the store refuses is no permission", "[poison]") {
  DurableKit kit;
  begin_and_die(kit, "r");
  for (int i = 0; i < 3; ++i) die_while_resumed(kit, "r");
  const TriageAgent agent{&fails_once, answers({RecoveryAction::abort()}), kit.on_disk()};
  kit.break_operation(4);  // The record of the quarantine.
  CHECK_FALSE(agent.resume_run("r").has_value());
  kit.durable->repair();
  CHECK_ERRC(Errc::conflict, agent.resume_run("r"));
}

TEST_CASE("a run that another process suspends just before it is taken still waits",
          "[suspension]") {
  // Somebody else has the run for a moment before it is acquired.
  struct Overtaken final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    std::function<void()> before{};
    Result<Lease> acquire(const RunId& run) override {
      if (const auto once = std::exchange(before, {})) once();
      return ForwardingStore::acquire(run);
    }
  };
  Kit kit;
  begin_and_die(kit, "r");
  int calls = 0;
  const auto make = [&](std::shared_ptr<CheckpointStore> store) {
    AgentOptions options = kit.with(std::move(store));
    return TriageAgent{[&calls](const std::string&) -> int {
                         if (++calls > 1) return 42;
                         throw std::runtime_error("over the limit");
                       },
                       answers({asking()}), options};
  };
  const auto store = std::make_shared<Overtaken>(kit.store);
  store->before = [&] { CHECK_ERRC(Errc::suspended, make(kit.store).run_or_resume("r", "x")); };
  CHECK_ERRC(Errc::suspended, make(store).run_or_resume("r", "x"));
  CHECK(calls == 1);
}

TEST_CASE("max_crashes has bounds", "[poison]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.max_crashes = GENERATE(-1, 1'000'001);
  const TriageAgent agent{&fails_once, answers({RecoveryAction::abort()}), options};
  CHECK_ERRC(Errc::invalid_argument, agent.run("x"));
}

TEST_CASE("a fork whose answer got lost is made once", "[fork]") {
  Kit kit;
  const auto flaky = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(flaky);
  const TriageAgent agent{&report, answers({RecoveryAction::retry()}), options};
  REQUIRE(agent.run("x", {.run_id = "o"}));
  const std::string parent = to_string(kit.store->checkpoints("o").value().back().id);
  bool made = false;
  for (int n = 1; !made; ++n) {
    REQUIRE(n < 100);
    const int at = flaky->operations() + n;
    flaky->fail_between(at, at, FlakyStore::Fault::forgets_to_answer);
    const std::string label = "b" + std::to_string(n);
    const auto before = kit.store->runs({}).value().size();
    const auto branch = agent.fork(parent, {.label = label});
    made = flaky->operations() < at;
    flaky->repair();
    INFO("operation " << n);
    if (branch) {
      CHECK(kit.store->runs({}).value().size() == before + 1);
    } else {  // It does not exist, and its label is free.
      CHECK(kit.store->runs({}).value().size() == before);
      CHECK(agent.fork(parent, {.label = label}));
    }
  }
}
