// SPDX-License-Identifier: MIT
#include "triage/testing/scripted_agent.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/manifest.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/testing/failures.hpp"
#include "triage/testing/recording_observer.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

using namespace triage;
using namespace triage::testing;
using namespace std::chrono_literals;

namespace {

FailurePolicy always(Strategy strategy) {
  FailurePolicy policy;
  policy.otherwise(std::move(strategy));
  return policy;
}

}  // namespace

TEST_CASE("a script plays its attempts in order and remembers what it was told",
          "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt().step({.action = "one"}).state({{"page", 1}}).fail(failures::http(503));
  script.attempt().step({.action = "two"}).succeed("done");
  const TriageAgent agent{script, always(retry({.hint = "again"}))};

  const Result<Json> result = agent.run("the task");
  REQUIRE_OK(result);
  CHECK(result.value() == "done");

  const auto calls = script.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].attempt == 1);
  CHECK(calls[0].task == "the task");
  CHECK_FALSE(calls[0].recovery.has_value());
  REQUIRE(calls[1].recovery.has_value());
  CHECK(calls[1].recovery->action == RecoveryAction::Kind::retry);
  CHECK(calls[1].recovery->failure_type == FailureType::external_fault);
  CHECK(calls[1].recovery->hint == "again");
  CHECK(calls[1].state.empty());
  CHECK(calls[0].run_id == calls[1].run_id);
}

TEST_CASE("a script sees what a rollback restored", "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt()
      .step({.action = "load"})
      .state({{"page", 1}})
      .step({.action = "parse", .error = "broken"})
      .state({{"page", 2}})
      .fail(failures::mysterious());
  script.attempt().succeed();
  const TriageAgent agent{script, always(rollback())};
  REQUIRE_OK(agent.run("task"));
  const auto calls = script.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[1].state == Json({{"page", 1}}));
  CHECK(calls[1].steps == 1);
}

TEST_CASE("a script can throw, spend, label and do anything else", "[testing][scripted_agent]") {
  ScriptedAgent script;
  int performed = 0;
  script.attempt().throw_error(std::runtime_error("tool \"x\" not found"));
  script.attempt().usage({.input_tokens = 70}).fail(failures::http(503));
  script.attempt()
      .step({.action = "s"})
      .checkpoint("half")
      .perform([&](Attempt&) { ++performed; })
      .end([](Attempt& attempt) -> Result<Json> { return outcome::success(attempt.number()); });
  std::vector<FailureContext> failures_seen;
  AgentOptions options;
  options.hooks.on_failure = [&](const FailureContext& c) { failures_seen.push_back(c); };
  const TriageAgent agent{script, always(retry()), options};

  const auto result = agent.run("task");
  REQUIRE_OK(result);
  CHECK(result.value() == 3);
  CHECK(performed == 1);
  REQUIRE(failures_seen.size() == 2);
  CHECK_THAT(failures_seen[0].exception_type, ContainsSubstring("runtime_error"));
  CHECK(failures_seen[1].usage.input_tokens == 70);
}

TEST_CASE("an attempt beyond the script fails and says so, or repeats the last entry",
          "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt().fail(failures::http(503));
  const TriageAgent agent{script, always(retry({.max_attempts = 4}))};
  const auto beyond = agent.run("task");
  CHECK_ERRC(Errc::escalated, beyond);
  REQUIRE(beyond.error().failure() != nullptr);
  CHECK_THAT(beyond.error().failure()->text, ContainsSubstring("beyond the script's 1 entries"));

  script.repeat_last();
  const auto endless = agent.run("task");
  CHECK_ERRC(Errc::escalated, endless);
  REQUIRE(endless.error().failure() != nullptr);
  CHECK(endless.error().failure()->text == "HTTP 503 Service Unavailable");
  CHECK(endless.error().failure()->attempt_number == 4);
}

TEST_CASE("runs on several threads play the same script", "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt().fail(failures::http(503));
  script.attempt().succeed(1);
  const TriageAgent agent{script, always(retry())};
  std::vector<std::thread> threads;
  std::array<bool, 4> done{};
  for (auto& one : done) {
    threads.emplace_back([&agent, &one] { one = agent.run("task").has_value(); });
  }
  for (auto& thread : threads) thread.join();
  CHECK(std::all_of(done.begin(), done.end(), [](bool one) { return one; }));
  CHECK(script.call_count() == 8);
}

TEST_CASE("backoff in a run waits on the simulated clock, as long as the server asked",
          "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt().fail(failures::rate_limited(48h));
  script.attempt().fail(failures::http(503));
  script.attempt().succeed();
  const auto clock = std::make_shared<SimulatedClock>();
  const TriageAgent agent{script,
                          always(retry_with_backoff({.base_delay = 1s, .jitter = Jitter::none})),
                          {.clock = clock}};
  REQUIRE_OK(agent.run("task"));
  CHECK(clock->waits() == std::vector<Duration>{48h, 2s});
}

TEST_CASE("a run with a named time beyond its deadline ends at once and says why",
          "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt().fail(failures::rate_limited(48h));
  const auto clock = std::make_shared<SimulatedClock>();
  const TriageAgent agent{script, always(retry_with_backoff()), {.clock = clock}};
  const auto result = agent.run("task", {.deadline = clock->now() + 1h});
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("retry_after is 2d"));
  CHECK(clock->waits().empty());
  CHECK(script.call_count() == 1);
}

TEST_CASE("an agent that called a wrong tool is told the right ones", "[testing][scripted_agent]") {
  ScriptedAgent script;
  script.attempt()
      .step({.action = "look", .tool_called = "serach", .error = "unknown tool"})
      .fail(failures::wrong_tool("serach"));
  script.attempt().succeed();
  const TriageAgent agent{script,
                          always(retry_with_tool_manifest()),
                          {.contract = {.tools = {{.name = "search"}, {.name = "fetch"}}}}};
  REQUIRE_OK(agent.run("task"));
  const auto calls = script.calls();
  REQUIRE(calls.size() == 2);
  CHECK_THAT(calls[1].recovery->hint,
             ContainsSubstring("serach") && ContainsSubstring("search, fetch"));
}

TEST_CASE("an agent with an impossible policy does not start", "[testing][scripted_agent]") {
  const ScriptedAgent script;
  const TriageAgent agent{script, always(retry({.max_attempts = 0}))};
  const auto result = agent.run("task");
  CHECK_ERRC(Errc::invalid_argument, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("max_attempts is 0"));
  CHECK(script.call_count() == 0);
}

TEST_CASE("the recording observer keeps copies of what a run told it", "[testing][observer]") {
  const auto observer = std::make_shared<RecordingObserver>();
  ScriptedAgent script;
  script.attempt().step({.action = "fetch"}).fail(failures::http(503));
  script.attempt().succeed();
  const TriageAgent agent{script, always(replan()), {.observer = observer}};
  REQUIRE_OK(agent.run("task", {.run_id = "run-7"}));

  CHECK(observer->count(EventKind::attempt_started) == 2);
  CHECK(observer->count(EventKind::run_finished) == 1);
  const auto chosen = observer->events(EventKind::recovery_chosen);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].name == "recovery_chosen");
  CHECK(chosen[0].run_id == "run-7");
  CHECK(chosen[0].failure_type == FailureType::external_fault);
  CHECK(chosen[0].action == RecoveryAction::Kind::replan);
  const auto steps = observer->events(EventKind::step_recorded);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].step_action == "fetch");
  const auto names = observer->names();
  CHECK(names.size() == observer->events().size());
  CHECK(std::find(names.begin(), names.end(), "failure_classified") != names.end());
  observer->clear();
  CHECK(observer->events().empty());
}

TEST_CASE("the recording observer keeps what an event says about an error", "[testing][observer]") {
  const Error error{Errc::io, "the disk is full"};
  RecordingObserver observer;
  observer.on_event({.kind = EventKind::store_detached, .error = &error});
  observer.on_event({.kind = EventKind::run_started});
  const auto events = observer.events();
  REQUIRE(events.size() == 2);
  CHECK(events[0].error_code == Errc::io);
  CHECK(events[0].error_detail == "the disk is full");
  CHECK_FALSE(events[1].error_code);
  CHECK(events[1].error_detail.empty());
}

TEST_CASE("a setting that the limits never reach is told as an event", "[testing][observer]") {
  const auto observer = std::make_shared<RecordingObserver>();
  ScriptedAgent script;
  script.attempt().succeed();
  const TriageAgent agent{script, always(retry({.max_attempts = 11})), {.observer = observer}};
  REQUIRE_OK(agent.run("task"));
  const auto warnings = observer->events(EventKind::policy_warning);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0].text, ContainsSubstring("11 attempts") && ContainsSubstring("after 10"));
}
