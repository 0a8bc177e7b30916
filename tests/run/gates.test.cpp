// SPDX-License-Identifier: MIT
// Gates, budgets and expected durations in front of attempts and calls.
#include "support/kit.hpp"
#include "support/result.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/bulkhead.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/policies/retry_budget.hpp"
#include "triage/stores/memory.hpp"

using namespace triage;
using namespace triage::test;
using namespace std::chrono_literals;

namespace {

Error unavailable(Attempt& attempt) {
  return attempt.fail({.text = "unavailable", .http_status = 503});
}

FailurePolicy patient_policy() {
  FailurePolicy policy;
  policy.otherwise(retry_with_backoff(
      {.max_attempts = 9, .base_delay = 1s, .max_delay = 1s, .jitter = Jitter::none}));
  return policy;
}

std::shared_ptr<CircuitBreaker> sensitive_breaker(BreakerOptions options = {}) {
  options.minimum_calls = 2;
  options.probes = 1;
  return CircuitBreaker::create(std::move(options)).value();
}

}  // namespace

TEST_CASE("an open breaker blocks the first attempt of a run too", "[gates]") {
  Kit kit;
  const auto breaker = sensitive_breaker();
  AgentOptions options = kit.bare();
  options.gates = {breaker};
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++calls;
                            return unavailable(attempt);
                          },
                          answers({RecoveryAction::escalate()}), options};
  for (int run = 0; run < 2; ++run) CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(calls == 2);
  const auto refused = agent.run("x");
  CHECK_ERRC(Errc::escalated, refused);
  CHECK(calls == 2);
  const Classification& found = refused.error().failure()->classification;
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.reason == "circuit_open");
  CHECK(found.retry_after == 5s);
  CHECK(kit.log->count(EventKind::gate_refused) == 1);
  CHECK(refused.error().failure()->refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("a gate of this agent refused"));
}

TEST_CASE("a refusal is no attempt, and uses none of them up", "[gates]") {
  struct Closed final : Gate {
    int asked = 0;
    int open_after = 0;
    [[nodiscard]] std::string_view name() const noexcept override { return "closed"; }
    GateAnswer enter(const GateRequest& /*request*/) noexcept override {
      if (++asked > open_after) return {};
      return {.kind = GateAnswer::Kind::refuse,
              .wait = 1s,
              .reason = "circuit_open",
              .message = "the door is shut"};
    }
    void leave(const GateRequest& /*request*/, std::uint64_t /*ticket*/,
               const GateOutcome* /*outcome*/) noexcept override {}
  };
  Kit kit;
  const auto gate = std::make_shared<Closed>();
  AgentOptions options = kit.options();
  options.gates = {gate};
  options.limits.max_attempts_per_type = 4;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            if (++calls == 1) gate->open_after = gate->asked + 3;
                            if (calls < 3) return unavailable(attempt);
                            return calls;
                          },
                          FailurePolicy().otherwise([](const FailureContext& failure) {
                            CHECK(failure.occurrence() <= 3);
                            return RecoveryAction::retry({}, 1s);
                          }),
                          options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 3);  // After two failures and three refusals.
  const auto history = Journal::fold(kit.store->read("r", {}).value()).value().history();
  REQUIRE(history.size() == 5);
  CHECK(std::count_if(history.begin(), history.end(),
                      [](const HistoryEntry& one) { return one.refused; }) == 3);
  gate->open_after = 1000;
  const auto shut = agent.run("x");
  CHECK_ERRC(Errc::escalated, shut);
  CHECK_THAT(shut.error().detail, ContainsSubstring("refused 4 times in a row"));
  CHECK(calls == 3);
}

TEST_CASE("a run waits until the breaker lets a probe pass, and its success closes it", "[gates]") {
  Kit kit;
  const auto breaker = sensitive_breaker();
  AgentOptions options = kit.options();
  options.gates = {breaker};
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            if (++calls <= 2) return unavailable(attempt);
                            return calls;
                          },
                          patient_policy(), options};
  CHECK(agent.run("x").value() == 3);
  CHECK(kit.clock->waits == std::vector<Duration>{1s, 1s, 4s});
  const GateRequest key{.tool = "agent", .now = kit.clock->now()};
  CHECK(breaker->state(key) == BreakerState::closed);
}

TEST_CASE("a cancelled probe gives its permit back", "[gates]") {
  Kit kit;
  const auto breaker = sensitive_breaker();
  AgentOptions options = kit.bare();
  options.gates = {breaker};
  std::stop_source stop;
  bool failing = true;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            if (failing) return unavailable(attempt);
                            stop.request_stop();
                            throw std::runtime_error("cut off");
                          },
                          answers({RecoveryAction::escalate()}), options};
  for (int run = 0; run < 2; ++run) CHECK_ERRC(Errc::escalated, agent.run("x"));
  failing = false;
  kit.clock->advance(5s);
  CHECK_ERRC(Errc::cancelled, agent.run("x", {.stop_token = stop.get_token()}));
  Permit permit;
  const GateKeeper keeper({breaker}, kit.clock);
  CHECK(keeper.enter({.tool = "agent"}, permit).kind == GateAnswer::Kind::pass);
}

TEST_CASE("attempts wait for the rate limiter, not beyond the deadline", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {RateLimiter::create({.permits = 1, .period = 10s}).value()};
  const TriageAgent agent{[](const std::string&) { return 1; },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x").value() == 1);
  CHECK(agent.run("x").value() == 1);
  CHECK(kit.clock->waits == std::vector<Duration>{10s});
  const auto late = agent.run("x", {.deadline = kit.clock->now() + 9s});
  CHECK_ERRC(Errc::escalated, late);
  CHECK(late.error().failure()->classification.reason == "gate_wait");
  CHECK(kit.clock->waits.size() == 1);
}

TEST_CASE("a spent retry budget ends the retries of a run", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {RetryBudget::create(grpc_retry_throttle()).value()};
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++calls;
                            return unavailable(attempt);
                          },
                          patient_policy(), options};
  for (int run = 0; run < 100; ++run) CHECK_ERRC(Errc::escalated, agent.run("x"));
  CHECK(calls <= 120);
  const std::string detail = agent.run("x").error().detail;
  CHECK_THAT(detail, ContainsSubstring("retry budget"));
  CHECK_THAT(detail, ContainsSubstring("named no time to ask again"));  // No further attempt.
}

TEST_CASE("three nested wrappers hardly multiply the calls of one", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.gates = {RetryBudget::create(grpc_retry_throttle()).value()};
  int calls = 0;
  const TriageAgent inner{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++calls;
                            return unavailable(attempt);
                          },
                          patient_policy(), options};
  const TriageAgent middle{[&](const std::string& task, Attempt& attempt) {
                             return inner.run(task, {.parent = &attempt});
                           },
                           patient_policy(), options};
  const TriageAgent outer{[&](const std::string& task, Attempt& attempt) {
                            return middle.run(task, {.parent = &attempt});
                          },
                          patient_policy(), options};
  const int runs = 50;
  for (int run = 0; run < runs; ++run) CHECK_ERRC(Errc::escalated, outer.run("x"));
  INFO(calls << " calls");
  CHECK(calls <= runs * 13 / 10);
}

TEST_CASE("a call inside an attempt passes the same gates", "[gates]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.gates = {Bulkhead::create({.max_concurrent = 1}).value()};
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            auto first = attempt.enter("search", "example.org");
                            if (!first) return first.error();
                            auto second = attempt.enter("search", "example.org");
                            if (!second) return second.error();
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->classification.reason == "bulkhead_full");
}

TEST_CASE("a call that does not fit into the budget is not started", "[gates][budget]") {
  Kit kit;
  AgentOptions inside = kit.bare();
  AgentOptions around = kit.bare();
  around.budget = Budget::create({.max_cost_usd = 1.0}).value();
  int calls = 0;
  const TriageAgent child{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            auto reserved = attempt.reserve({.cost_usd = 0.4});
                            if (!reserved) return reserved.error();
                            ++calls;
                            reserved.value().settle({.cost_usd = 0.4});
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), inside};
  const TriageAgent parent{[&](const std::string& task, Attempt& attempt) {
                             for (int i = 0; i < 2; ++i) {
                               CHECK(child.run(task, {.parent = &attempt}).value() == 1);
                             }
                             return child.run(task, {.parent = &attempt});
                           },
                           answers({RecoveryAction::escalate()}), around};
  const auto result = parent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->type() == FailureType::quota_exhausted);
  CHECK(result.error().failure()->classification.reason == "budget_spent");
  CHECK(calls == 2);
  CHECK(around.budget->spent().cost_usd == Approx(0.8));
}

TEST_CASE("a budget that nested agents share pays once for each call", "[gates][budget]") {
  Kit kit;
  AgentOptions inside = kit.bare();
  AgentOptions around = kit.bare();
  around.budget = Budget::create({.max_calls = 10}).value();
  SECTION("the same budget") { inside.budget = around.budget; }
  SECTION("one that draws from it") { inside.budget = Budget::create({}, around.budget).value(); }
  int calls = 0;
  const TriageAgent child{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            for (;;) {
                              auto reserved = attempt.reserve({});
                              if (!reserved) return reserved.error();
                              reserved.value().settle({});
                              ++calls;
                            }
                          },
                          answers({RecoveryAction::escalate()}), inside};
  const TriageAgent parent{[&](const std::string& task, Attempt& attempt) {
                             return child.run(task, {.parent = &attempt});
                           },
                           answers({RecoveryAction::escalate()}), around};
  const auto result = parent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK(result.error().failure()->classification.reason == "budget_spent");
  CHECK(calls == 10);
}

TEST_CASE("a limit of tokens holds for sums beyond the largest number", "[gates][budget]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.limits.max_tokens = 1'000;
  int calls = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) -> Result<int> {
                            ++calls;
                            constexpr std::uint64_t half = std::uint64_t{1} << 63U;
                            attempt.record_usage({.input_tokens = half, .output_tokens = half});
                            return unavailable(attempt);
                          },
                          answers({RecoveryAction::retry()}), options};
  const auto result = agent.run("x");
  CHECK_ERRC(Errc::escalated, result);
  CHECK_THAT(result.error().detail, ContainsSubstring("limits.max_tokens"));
  CHECK(calls == 1);
}

TEST_CASE("an attempt that could not end before the deadline is not started", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  int calls = 0;
  const auto take_a_minute = [&](const std::string&) {
    kit.clock->advance(60s);
    return ++calls;
  };
  SECTION("as given") {
    options.expected_duration = 60s;
    const TriageAgent agent{take_a_minute, patient_policy(), options};
    const auto late = agent.run("x", {.deadline = kit.clock->now() + 60s});
    CHECK_ERRC(Errc::escalated, late);
    CHECK(late.error().failure()->type() == FailureType::timeout);
    CHECK(calls == 0);
    CHECK(agent.run("x", {.deadline = kit.clock->now() + 61s}).value() == 1);
  }
  SECTION("as learnt") {
    options.learn_duration = true;
    const TriageAgent agent{take_a_minute, patient_policy(), options};
    CHECK(agent.run("x", {.deadline = kit.clock->now() + 600s}).value() == 1);
    CHECK_ERRC(Errc::escalated, agent.run("x", {.deadline = kit.clock->now() + 59s}));
    CHECK(calls == 1);
  }
}

TEST_CASE("one slow success does not refuse shorter runs for ever", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  options.learn_duration = true;
  int calls = 0;
  Duration takes = 40s;
  const TriageAgent agent{[&](const std::string&) {
                            kit.clock->advance(takes);
                            return ++calls;
                          },
                          answers({RecoveryAction::escalate()}), options};
  REQUIRE(agent.run("x", {.deadline = kit.clock->now() + 60s}).has_value());
  takes = 5s;
  int refused = 0;
  while (!agent.run("x", {.deadline = kit.clock->now() + 30s})) REQUIRE(++refused < 100);
  CHECK(refused == 7);
  for (int run = 0; run < 20; ++run) {
    REQUIRE(agent.run("x", {.deadline = kit.clock->now() + 30s}).has_value());
  }
  SECTION("what the user has given is believed") {
    options.expected_duration = 40s;
    const TriageAgent told{[&](const std::string&) { return ++calls; },
                           answers({RecoveryAction::escalate()}), options};
    const int before = calls;
    for (int run = 0; run < 20; ++run) {
      CHECK_ERRC(Errc::escalated, told.run("x", {.deadline = kit.clock->now() + 30s}));
    }
    CHECK(calls == before);
  }
}

TEST_CASE("a strategy that asks for a negative delay is told so", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  int calls = 0;
  const auto fail = [&](const std::string&, Attempt& attempt) -> Result<int> {
    ++calls;
    return unavailable(attempt);
  };
  SECTION("a strategy") {
    const TriageAgent agent{fail, answers({RecoveryAction::retry({}, -5s)}), options};
    const auto result = agent.run("x");
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail,
               ContainsSubstring("retry after a delay of -5000000000 ns; allowed is 0 or more"));
    CHECK(calls == 1);
  }
  SECTION("a hook") {
    options.hooks.on_escalate = [](const FailureContext&) {
      return RecoveryAction::retry({}, -5s);
    };
    const TriageAgent agent{fail, answers({RecoveryAction::escalate()}), options};
    const auto result = agent.run("x");
    CHECK_ERRC(Errc::escalated, result);
    REQUIRE(result.error().failure()->notes.size() == 1);
    CHECK_THAT(result.error().failure()->notes[0], ContainsSubstring("allowed is 0 or more"));
    CHECK(calls == 1);
  }
  SECTION("a decision") {
    const TriageAgent agent{fail, answers({RecoveryAction::suspend()}), options};
    const auto result = agent.run("x");
    CHECK_ERRC(Errc::suspended, result);
    const std::string token = result.error().suspension()->token;
    CHECK_ERRC(Errc::invalid_argument, agent.decide(token, RecoveryAction::retry({}, -1ns)));
    CHECK(calls == 1);
    CHECK_ERRC(Errc::suspended, agent.decide(token, RecoveryAction::retry()));
  }
}

TEST_CASE("gates and durations that make no sense are refused", "[gates]") {
  Kit kit;
  AgentOptions options = kit.bare();
  SECTION("a null gate") { options.gates = {nullptr}; }
  SECTION("a negative duration") { options.expected_duration = -1s; }
  const TriageAgent agent{[](const std::string&) { return 1; }, patient_policy(), options};
  CHECK_ERRC(Errc::invalid_argument, agent.run("x"));
}
