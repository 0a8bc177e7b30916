// SPDX-License-Identifier: MIT
// What users of the reference library rely on, in our words: runs, checkpoints, recovery actions.
// The numbers refer to tests/reference/README.md.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Fails in the first attempts; then returns the number of steps and the state at its start.
struct Worker {
  int failures = 1;
  std::shared_ptr<int> calls = std::make_shared<int>(0);

  std::string operator()(const std::string& task, Attempt& attempt) const {
    ++*calls;
    const std::string start = task + " " + std::to_string(attempt.trajectory().size()) + " " +
                              attempt.state().json().dump();
    for (int phase = 1; phase <= 2; ++phase) {
      attempt.record_step({.action = "step " + std::to_string(phase)});
      attempt.update_state({{"phase", phase}});
    }
    if (attempt.number() <= failures) throw std::runtime_error("external_fault");
    return start;
  }
};

}  // namespace

TEST_CASE("reference 1, 2: success gives the callable's value, by run and by call", "[reference]") {
  const TriageAgent agent{[](const std::string& task) { return "did " + task; },
                          answers({RecoveryAction::retry()})};
  CHECK(agent.run("it").value() == "did it");
  CHECK(agent("it").value() == "did it");
}

TEST_CASE("reference 3, 4, 20: a retry runs again with no steps and no state", "[reference]") {
  Kit kit;
  const Worker worker;
  const TriageAgent agent{worker, answers({RecoveryAction::retry()}), kit.options()};
  CHECK(agent.run("t", {.run_id = "r"}).value() == "t 0 {}");
  CHECK(*worker.calls == 2);
  CHECK(kit.store->latest("r").value().trajectory.size() == 2);  // Not four.
}

TEST_CASE("reference 5: a cancellation ends the run after one call, without recovery",
          "[reference]") {
  Kit kit;
  std::stop_source stop;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            stop.request_stop();
                            throw std::runtime_error("external_fault");
                          },
                          answers({RecoveryAction::retry()}), kit.bare()};
  CHECK_ERRC(Errc::cancelled, agent.run("t", {.stop_token = stop.get_token()}));
  CHECK(calls == 1);
  CHECK(kit.log->count(EventKind::recovery_chosen) == 0);
}

TEST_CASE("reference 6: callables and callable objects work and recover", "[reference]") {
  struct Object {
    int operator()(const int& n, Attempt& attempt) const {
      if (attempt.number() == 1) throw std::runtime_error("external_fault");
      return n;
    }
  };
  CHECK(TriageAgent{Object{}, answers({RecoveryAction::retry()})}.run(3).value() == 3);
}

TEST_CASE("reference 9, 12, 13, 14, 15: each step's checkpoint has the state as it was then",
          "[reference]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "a"});
                            attempt.update_state({{"phase", 1}});
                            attempt.record_step({.action = "b"});
                            attempt.update_state({{"phase", 2}});
                            attempt.record_step({.action = "c"});
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("t", {.run_id = "r"}));
  const auto infos = kit.store->checkpoints("r").value();
  REQUIRE(infos.size() == 3);
  const std::vector<int> phases{1, 2, 2};
  for (std::size_t i = 0; i < 3; ++i) {
    const Checkpoint checkpoint = kit.store->load(infos[i].id).value();
    CHECK(checkpoint.trajectory.size() == i + 1);
    CHECK(checkpoint.state.value("phase", 0) == phases[i]);
  }
  CHECK(kit.store->latest("r").value().trajectory.size() == 3);
}

TEST_CASE("reference 10: without automatic checkpoints none is made", "[reference]") {
  Kit kit;
  const TriageAgent agent{Worker{0}, answers({RecoveryAction::retry()}), kit.options()};
  REQUIRE_OK(agent.run("t", {.run_id = "r", .auto_checkpoint = false}));
  CHECK(kit.store->checkpoints("r").value().empty());
}

TEST_CASE("reference 11: what a failed attempt recorded is stored", "[reference]") {
  Kit kit;
  const TriageAgent agent{Worker{9}, answers({RecoveryAction::escalate()}), kit.options()};
  CHECK_ERRC(Errc::escalated, agent.run("t", {.run_id = "r"}));
  CHECK(kit.store->checkpoints("r").value().size() == 2);
}

TEST_CASE("reference 17: a memory store keeps runs apart, under concurrent use", "[reference]") {
  Kit kit;
  const TriageAgent agent{Worker{0}, answers({RecoveryAction::retry()}), kit.options()};
  CHECK_ERRC(Errc::not_found, kit.store->latest("r0"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      if (!agent.run("t", {.run_id = "r" + std::to_string(i)})) std::terminate();
      if (!kit.store->latest("r" + std::to_string(i))) std::terminate();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(kit.store->runs({}).value().size() == 20);
  for (int i = 0; i < 20; ++i) {
    CHECK(kit.store->checkpoints("r" + std::to_string(i)).value().size() == 2);
  }
}

TEST_CASE("reference 21, 29, 30: retry and replan tell their hint, type and action",
          "[reference]") {
  Kit kit;
  const auto kind = GENERATE(RecoveryAction::Kind::retry, RecoveryAction::Kind::replan);
  RecoveryAction action = RecoveryAction::retry("look here");
  action.kind = kind;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) {
                              CHECK(attempt.recovery() == nullptr);
                              throw std::runtime_error("schema_mismatch");
                            }
                            REQUIRE(attempt.recovery());
                            CHECK(attempt.recovery()->action == kind);
                            CHECK(attempt.recovery()->hint == "look here");
                            CHECK(attempt.recovery()->subgoal.empty());
                            CHECK(attempt.recovery()->failure_type == FailureType::schema_mismatch);
                          },
                          answers({action}), kit.bare()};
  REQUIRE_OK(agent.run("t"));
}

TEST_CASE("reference 22, 24, 26: a rollback says so and brings its state", "[reference]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) {
                              CHECK(attempt.state().empty());
                              attempt.record_step({.action = "a"});
                              attempt.update_state({{"k", 1}});
                              throw std::runtime_error("timeout");
                            }
                            CHECK_THAT(attempt.recovery()->hint, ContainsSubstring("Rolled back"));
                            CHECK(attempt.state().json() == Json{{"k", 1}});
                            attempt.update_state({{"k", 2}});
                          },
                          answers({RecoveryAction::rollback()}), kit.options()};
  REQUIRE_OK(agent.run("t", {.run_id = "r"}));
  CHECK(kit.store->latest("r").value().state.json() == Json{{"k", 2}});
}

TEST_CASE("reference 23: a rollback without a checkpoint is escalated", "[reference]") {
  const TriageAgent agent{[](const std::string&) -> int { throw std::runtime_error("timeout"); },
                          answers({RecoveryAction::rollback()}), Kit().bare()};
  const auto result = agent.run("t");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("no checkpoint"));
}

TEST_CASE("reference 25: a checkpoint without state restores an empty one", "[reference]") {
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "a"});
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return attempt.state().empty();
                          },
                          answers({RecoveryAction::rollback()}), Kit().bare()};
  CHECK(agent.run("t").value());
}

TEST_CASE("reference 27: a resume tells the subgoal", "[reference]") {
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> std::string {
                            if (attempt.number() == 1) throw std::runtime_error("plan_incomplete");
                            return attempt.recovery()->subgoal;
                          },
                          answers({RecoveryAction::resume("write the summary")}), Kit().bare()};
  CHECK(agent.run("t").value() == "write the summary");
}

TEST_CASE("reference 28: escalation and abort end the run with the text they were given",
          "[reference]") {
  const auto fails = [](const std::string&) -> int { throw std::runtime_error("timeout"); };
  const TriageAgent escalating{fails, answers({RecoveryAction::escalate("ask Ann")}), Kit().bare()};
  const auto escalated = escalating.run("t");
  CHECK_ERRC(Errc::escalated, escalated);
  CHECK_THAT(escalated.error().detail, ContainsSubstring("ask Ann"));
  const TriageAgent aborting{fails, answers({RecoveryAction::abort("never mind")}), Kit().bare()};
  const auto aborted = aborting.run("t");
  CHECK_ERRC(Errc::aborted, aborted);
  CHECK_THAT(aborted.error().detail, ContainsSubstring("never mind"));
}

TEST_CASE("reference 31: an action is described by what is set in it", "[reference]") {
  CHECK(describe(RecoveryAction::retry()) == "retry");
  CHECK(describe(RecoveryAction::retry("look", std::chrono::milliseconds(1500))) ==
        "retry after 1.5 s (hint: look)");
  CHECK(describe(RecoveryAction::abort("no\nmore")) == "abort: no\\nmore");
  // The reference treats a negative delay as none; here it is kept, and the run reports the error.
  CHECK(RecoveryAction::retry("", std::chrono::seconds(-1)).delay == std::chrono::seconds(-1));
}
