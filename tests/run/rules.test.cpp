// SPDX-License-Identifier: MIT
// The eight rules of a run, each under its number: 1 to 4. They are the contract of the run loop.
#include "support/kit.hpp"
#include "support/result.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

TEST_CASE("rule 1: one agent serves any number of concurrent runs, each with its own state",
          "[rules]") {
  Kit kit;
  const TriageAgent agent{[](const int& task, Attempt& attempt) -> int {
                            for (int i = 0; i < 20; ++i) {
                              attempt.record_step({.action = std::to_string(task)});
                              attempt.update_state({{"task", task}, {"i", i}});
                            }
                            if (attempt.number() < 3) throw std::runtime_error("external_fault");
                            for (const Step& step : attempt.trajectory()) {
                              if (step.action != std::to_string(task)) return -1;
                            }
                            const State state = attempt.state();
                            return attempt.trajectory().size() == 20 ? state.value("task", -1) : -2;
                          },
                          answers({RecoveryAction::retry()}), kit.options()};
  std::vector<std::thread> threads;
  std::vector<int> results(8, -9);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] { results[static_cast<std::size_t>(t)] = agent.run(t).value(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("rule 1: per_run makes a callable of its own for each run", "[rules]") {
  Kit kit;
  struct Counter {
    int calls = 0;
    int operator()(const std::string&) {
      if (++calls == 1) throw std::runtime_error("external_fault");
      return calls;
    }
  };
  const TriageAgent agent{per_run([] { return Counter{}; }), answers({RecoveryAction::retry()}),
                          kit.bare()};
  CHECK(agent.run("a").value() == 2);  // Kept across the attempts of one run …
  CHECK(agent.run("b").value() == 2);  // … and not across runs.
}

TEST_CASE("rule 2: after a rollback the next attempt continues, and checkpoints contain all of it",
          "[rules]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> int {
                            const int from = attempt.state().value("page", 0);
                            for (int page = from + 1; page <= 5; ++page) {
                              if (attempt.number() == 1 && page == 4) {
                                attempt.record_step({.action = "page 4", .error = "timeout"});
                                throw std::runtime_error("timeout");
                              }
                              attempt.record_step({.action = "page " + std::to_string(page)});
                              attempt.update_state({{"page", page}});
                            }
                            return from;
                          },
                          answers({RecoveryAction::rollback()}), kit.options()};
  const auto result = agent.run("site", {.run_id = "r"});
  REQUIRE_OK(result);
  CHECK(result.value() == 3);
  CHECK(kit.classifier->calls == 1);
  const Checkpoint latest = kit.store->latest("r").value();
  REQUIRE(latest.trajectory.size() == 5);
  int page = 0;
  for (const Step& step : latest.trajectory) CHECK(step.action == "page " + std::to_string(++page));
  CHECK(latest.state.json() == Json{{"page", 5}});
}

TEST_CASE("rule 2: the classifier is told which steps were restored", "[rules]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "a"});
                            attempt.record_step({.action = "b"});
                            attempt.record_step({.action = "c", .error = "boom"});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::rollback(), RecoveryAction::escalate()}),
                          kit.bare()};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(kit.classifier->restored_steps == 2);
  CHECK(kit.classifier->rolled_back_step() == 2U);
}

TEST_CASE("rule 3: default rollbacks go to the last good checkpoint, then one further back each",
          "[rules]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  std::vector<std::size_t> restored;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            restored.push_back(attempt.trajectory().size());
                            if (attempt.number() == 1) {
                              for (int i = 0; i < 3; ++i) attempt.record_step({.action = "good"});
                              attempt.record_step({.action = "bad", .error = "boom"});
                            }
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::rollback()}),
                          stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(restored == std::vector<std::size_t>{0, 3, 2, 1});
  CHECK_THAT(result.error().detail, ContainsSubstring("rollback is not possible"));
}

TEST_CASE("rule 3: default rollbacks get behind a mistake that is noticed several steps later",
          "[rules]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const std::size_t noticed_after = GENERATE(1U, 4U, 7U);
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        for (std::size_t step = attempt.trajectory().size(); step < 12; ++step) {
          const bool wrong =
              step == 2 ? attempt.number() == 1 : attempt.state().json().value("wrong", false);
          if (step == 2) attempt.update_state({{"wrong", wrong}});
          if (wrong && step == 2 + noticed_after) {
            attempt.record_step({.action = "check", .error = "it is wrong"});
            throw std::runtime_error("timeout");
          }
          attempt.record_step({.action = "step"});
        }
        return attempt.number();
      },
      answers({RecoveryAction::rollback()}), stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x", {.limits = Limits{.max_attempts = 20}});
  REQUIRE_OK(result);
  CHECK(result.value() <= static_cast<int>(noticed_after) + 2);
}

TEST_CASE("rule 3: a rollback with nothing left starts over only where that is allowed",
          "[rules]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 1) throw std::runtime_error("timeout");
                            return attempt.trajectory().size();
                          },
                          answers({RecoveryAction::rollback({.or_start = true})}), kit.bare()};
  CHECK(agent.run("x").value() == 0);
}

TEST_CASE("rule 3: a rollback goes to the newest, a label, an id, or n back when it says so",
          "[rules]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  std::string id;
  RollbackTarget target;
  std::size_t expected = 0;
  SECTION("latest, even at the failure") {
    target.kind = RollbackTarget::Kind::latest;
    expected = 4;
  }
  SECTION("label") {
    target = {.kind = RollbackTarget::Kind::label, .name = "two"};
    expected = 2;
  }
  SECTION("n back") {  // Of 1, 2, "two", 3 and 4 steps.
    target = {.kind = RollbackTarget::Kind::back, .back = 1};
    expected = 3;
  }
  SECTION("id") {
    target.kind = RollbackTarget::Kind::checkpoint;
    expected = 2;
  }
  FailurePolicy policy;
  policy.otherwise([&](const FailureContext&) {
    RollbackTarget chosen = target;
    if (chosen.kind == RollbackTarget::Kind::checkpoint) chosen.name = id;
    return RecoveryAction::rollback(chosen);
  });
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            if (attempt.number() == 2) return attempt.trajectory().size();
                            for (int i = 1; i <= 4; ++i) {
                              attempt.record_step({.action = "s"});
                              if (i == 2) id = to_string(attempt.checkpoint("two").value());
                            }
                            throw std::runtime_error("timeout");
                          },
                          policy, stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x");
  REQUIRE_OK(result);
  CHECK(result.value() == expected);
}

TEST_CASE("rule 3: a checkpoint of another run is no rollback target", "[rules]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) -> int {
        attempt.record_step({.action = "s"});
        attempt.record_step({.action = "s"});
        throw std::runtime_error("timeout");
      },
      answers({RecoveryAction::rollback(
          {.kind = RollbackTarget::Kind::checkpoint, .name = "another-run@1"})}),
      stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("another-run@1"));
}

TEST_CASE("rule 3: checkpoints of an earlier attempt stay targets after a retry that got nowhere",
          "[rules]") {
  Kit kit;
  const bool stored = GENERATE(true, false);
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> std::size_t {
                            if (attempt.number() == 3) return attempt.trajectory().size();
                            if (attempt.number() == 1) {
                              for (int i = 0; i < 3; ++i) attempt.record_step({.action = "good"});
                            }
                            attempt.record_step({.action = "bad", .error = "boom"});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::retry(), RecoveryAction::rollback()}),
                          stored ? kit.options() : kit.bare()};
  const auto result = agent.run("x");
  REQUIRE_OK(result);
  CHECK(result.value() == 3);
}

TEST_CASE("rule 4: whatever a callable throws is a failure", "[rules]") {
  Kit kit;
  for (const int kind : {0, 1, 2}) {
    int calls = 0;
    const TriageAgent agent{[&](const std::string&) {
                              if (++calls > 1) return calls;
                              if (kind == 0) throw 42;
                              if (kind == 1) throw std::string("text");
                              throw Kit();
                            },
                            answers({RecoveryAction::retry()}), kit.bare()};
    CHECK(agent.run("x").value() == 2);
  }
}

TEST_CASE("rule 4: an exception's type, text, nested causes and code are evidence", "[rules]") {
  struct Keeper final : Classifier {
    Classification classify(const ClassifierInput& input) override {
      seen = input.failure;
      steps = input.trajectory.size();
      return {};
    }
    Failure seen{};
    std::size_t steps = 0;
  };
  Kit kit;
  const auto keeper = std::make_shared<Keeper>();
  AgentOptions options = kit.bare();
  options.classifier = keeper;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "fetch", .error = "an old error"});
                            try {
                              throw std::system_error(
                                  std::make_error_code(std::errc::connection_refused), "connect");
                            } catch (...) {
                              std::throw_with_nested(std::logic_error("the page is gone"));
                            }
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(keeper->seen.text == "the page is gone");
  CHECK_THAT(keeper->seen.exception_type, ContainsSubstring("std::logic_error"));
  REQUIRE(keeper->seen.causes.size() == 1);
  CHECK(keeper->seen.causes[0].exception_type == "std::system_error");
  CHECK(keeper->seen.causes[0].code == std::errc::connection_refused);
  CHECK(keeper->steps == 1);
}
