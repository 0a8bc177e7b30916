// SPDX-License-Identifier: MIT
// The eight rules of a run, 5 to 8: what is passed on, limited, reported, and kept by a failing
// store.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"

using namespace triage;
using namespace triage::test;

namespace {

// What an attempt is told.
struct Told {
  std::string hint;
  std::string subgoal;
  bool state;
  friend bool operator==(const Told&, const Told&) = default;
};

}  // namespace

TEST_CASE("rule 5: hint, state and subgoal of one attempt are gone in the next", "[rules]") {
  Kit kit;
  std::vector<Told> told;
  const TriageAgent agent{
      [&](const std::string&, Attempt& attempt) {
        const Recovery* r = attempt.recovery();
        told.push_back({r == nullptr ? "" : r->hint, r == nullptr ? "" : r->subgoal,
                        !attempt.state().empty()});
        attempt.record_step({.action = "s"});
        attempt.update_state({{"k", 1}});
        if (attempt.number() < 5) throw std::runtime_error("timeout");
        return 0;
      },
      answers({RecoveryAction::retry("try X"), RecoveryAction::rollback(),
               RecoveryAction::resume("goal", "look"), RecoveryAction::retry()}),
      kit.bare()};
  REQUIRE_OK(agent.run("x"));
  REQUIRE(told.size() == 5);
  CHECK(told[0] == Told{"", "", false});
  CHECK(told[1] == Told{"try X", "", false});
  CHECK_THAT(told[2].hint, ContainsSubstring("Rolled back to checkpoint"));
  CHECK(told[2].subgoal.empty());
  CHECK(told[2].state);
  CHECK(told[3] == Told{"look", "goal", true});
  CHECK(told[4] == Told{"", "", false});
}

TEST_CASE("rule 6: limits count per failure type and in total", "[rules]") {
  Kit kit;
  int calls = 0;
  const auto alternating = [&](const std::string&) -> int {
    throw std::runtime_error(++calls % 3 == 0 ? "timeout" : "external_fault");
  };
  AgentOptions options = kit.bare();
  SECTION("per type: the fourth external fault is attempt 5") {
    options.limits = {.max_attempts = 100, .max_attempts_per_type = 4};
    const TriageAgent agent{alternating, answers({RecoveryAction::retry()}), options};
    const auto result = agent.run("x");
    CHECK_ERRC(Errc::escalated, result);
    CHECK(calls == 5);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts_per_type (4)"));
    CHECK_THAT(result.error().detail, ContainsSubstring("external_fault"));
  }
  SECTION("in total") {
    options.limits = {.max_attempts = 7, .max_attempts_per_type = 100};
    const TriageAgent agent{alternating, answers({RecoveryAction::retry()}), options};
    const auto result = agent.run("x");
    CHECK_ERRC(Errc::escalated, result);
    CHECK(calls == 7);
    CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts (7)"));
  }
}

TEST_CASE("rule 6: a backoff waits on the injected clock and not beyond the deadline", "[rules]") {
  Kit kit;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            throw std::runtime_error("external_fault");
                          },
                          answers({RecoveryAction::retry("", std::chrono::seconds(10))}),
                          kit.bare()};
  const auto result = agent.run("x", {.deadline = kit.clock->now() + std::chrono::seconds(25)});
  CHECK_ERRC(Errc::escalated, result);
  CHECK(calls == 3);  // At 0 s, 10 s and 20 s; the wait to 30 s would pass the deadline.
  CHECK(kit.clock->waits == std::vector<Duration>(2, std::chrono::seconds(10)));
  CHECK_THAT(result.error().detail, ContainsSubstring("deadline"));
}

TEST_CASE("rule 6: a backoff ends at a cancellation", "[rules]") {
  Kit kit;
  std::stop_source stop;
  kit.clock->on_sleep = [&](TimePoint) { stop.request_stop(); };
  int calls = 0;
  const TriageAgent agent{[&](const std::string&) -> int {
                            ++calls;
                            throw std::runtime_error("external_fault");
                          },
                          answers({RecoveryAction::retry("", std::chrono::hours(1))}),
                          kit.options()};
  const auto cancelled = agent.run("x", {.run_id = "r", .stop_token = stop.get_token()});
  CHECK_ERRC(Errc::cancelled, cancelled);
  CHECK_THAT(cancelled.error().detail, ContainsSubstring("while waiting"));
  CHECK(calls == 1);
  CHECK(kit.store->run("r").value().status == RunStatus::cancelled);
}

TEST_CASE("rule 6: the longest backoff waits for ever, not for nothing", "[rules]") {
  Kit kit;
  std::stop_source stop;
  TimePoint until{};
  kit.clock->on_sleep = [&](TimePoint when) {
    until = when;
    stop.request_stop();
  };
  const TriageAgent agent{
      [&](const std::string&) -> int { throw std::runtime_error("external_fault"); },
      answers({RecoveryAction::retry("", Duration::max())}), kit.bare()};
  CHECK_ERRC(Errc::cancelled, agent.run("x", {.stop_token = stop.get_token()}));
  CHECK(until == TimePoint::max());
}

TEST_CASE("rule 7: an exception from a classifier, strategy or hook is reported beside the failure",
          "[rules]") {
  Kit kit;
  struct Thrower final : Classifier {
    Classification classify(const ClassifierInput&) override {
      throw std::runtime_error("classifier broke");
    }
  };
  AgentOptions options = kit.bare();
  FailurePolicy policy = answers({RecoveryAction::escalate("over")});
  std::string expected;
  SECTION("classifier") {
    options.classifier = std::make_shared<Thrower>();
    expected = "classifier broke";
  }
  SECTION("strategy") {
    policy.otherwise([](const FailureContext&) -> RecoveryAction {
      throw std::runtime_error("strategy broke");
    });
    expected = "strategy broke";
  }
  SECTION("strategy, with something that is not a std::exception") {
    policy.otherwise([](const FailureContext&) -> RecoveryAction { throw 42; });
    expected = "not a std::exception";
  }
  SECTION("on_failure") {
    options.hooks.on_failure = [](const FailureContext&) { throw std::runtime_error("hook 1"); };
    expected = "hook 1";
  }
  SECTION("on_recovery") {
    options.hooks.on_recovery = [](const FailureContext&, const RecoveryAction&) {
      throw std::runtime_error("hook 2");
    };
    expected = "hook 2";
  }
  SECTION("on_escalate") {
    options.hooks.on_escalate = [](const FailureContext&) -> std::optional<RecoveryAction> {
      throw std::runtime_error("hook 3");
    };
    expected = "hook 3";
  }
  const TriageAgent agent{
      [](const std::string&) -> int { throw std::runtime_error("the agent's own failure"); },
      policy, options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("the agent's own failure"));
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "the agent's own failure");
  const auto& notes = result.error().failure()->notes;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], ContainsSubstring(expected));
  CHECK(kit.log->count(EventKind::callback_failed) == 1);
}

TEST_CASE("rule 7: a store that fails or throws does not hide the failure", "[rules]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  const auto fault = GENERATE(FlakyStore::Fault::refuses, FlakyStore::Fault::throws);
  const auto on_error = GENERATE(OnStoreError::degrade, OnStoreError::fail);
  AgentOptions options = kit.with(store);
  options.on_store_error = on_error;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> int {
                            attempt.record_step({.action = "one"});
                            store->break_down(fault);
                            throw std::runtime_error("the agent's own failure");
                          },
                          answers({RecoveryAction::escalate()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC((on_error == OnStoreError::fail ? Errc::io : Errc::escalated), result);
  CHECK_THAT(result.error().detail, ContainsSubstring("the agent's own failure"));
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "the agent's own failure");
  const std::string& notes = result.error().failure()->notes.at(0);
  CHECK_THAT(notes, ContainsSubstring("the disk is"));
}

TEST_CASE("rule 8: a store that fails does not kill the run it protects", "[rules]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  bool from_memory = false;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> std::size_t {
                            if (attempt.number() == 2) {
                              CHECK_THAT(attempt.recovery()->hint,
                                         ContainsSubstring("from memory"));
                              from_memory = true;
                              store->repair();
                              return attempt.trajectory().size();
                            }
                            attempt.record_step({.action = "one"});
                            store->break_down();
                            attempt.record_step({.action = "two"});
                            throw std::runtime_error("timeout");
                          },
                          answers({RecoveryAction::rollback()}), options};
  const auto result = agent.run("x", {.run_id = "r"});
  REQUIRE_OK(result);
  CHECK(from_memory);
  CHECK(result.value() == 2);
  CHECK(kit.log->count(EventKind::store_detached) == 1);
  CHECK(kit.log->count(EventKind::store_attached) == 1);
  // The first successful drain wrote what was kept.
  CHECK(kit.store->run("r").value().status == RunStatus::finished);
  CHECK(kit.store->latest("r").value().trajectory.size() == 2);
}

TEST_CASE("rule 8: on request a failing store ends the run with its error", "[rules]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  options.on_store_error = OnStoreError::fail;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "one"});
                            store->break_down();
                            return 1;
                          },
                          answers({RecoveryAction::retry()}), options};
  CHECK_ERRC(Errc::io, agent.run("x"));
  CHECK(kit.log->count(EventKind::run_failed) == 1);
}

TEST_CASE("rule 8: effects and labelled checkpoints are strict even where a run may degrade",
          "[rules]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  int paid = 0;
  std::optional<Errc> label_error;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "one"});
                            store->break_down();
                            auto label = attempt.checkpoint("here");
                            if (label.has_error()) label_error = label.error().code;
                            auto done = attempt.try_effect("pay", [&] { return ++paid; });
                            CHECK_ERRC(Errc::io, done);
                            store->repair();
                            CHECK(attempt.effect("pay", [&] { return ++paid; }) == 1);
                          },
                          answers({RecoveryAction::escalate()}), options};
  REQUIRE_OK(agent.run("x", {.run_id = "r"}));
  CHECK(label_error == Errc::io);
  CHECK(paid == 1);
  // Nothing was done: the label exists neither in the store nor in the run.
  const auto infos = kit.store->checkpoints("r").value();
  for (const CheckpointInfo& info : infos) CHECK(info.label.empty());
}

TEST_CASE("rule 8: a suspension that cannot be stored is an error and makes no token", "[rules]") {
  Kit kit;
  const auto store = std::make_shared<FlakyStore>(kit.store);
  AgentOptions options = kit.with(store);
  const TriageAgent agent{[&](const std::string&) -> int {
                            store->break_down();
                            throw std::runtime_error("access_denied");
                          },
                          answers({RecoveryAction::suspend("who may?")}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::io, result);
  CHECK_FALSE(result.error().suspension());
  REQUIRE(result.error().failure());
  CHECK(result.error().failure()->text == "access_denied");
}
