// SPDX-License-Identifier: MIT
#include "triage/policy.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/limits.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/context.hpp"

using namespace triage;
using triage::testing::context_for;
using Kind = RecoveryAction::Kind;

TEST_CASE("a type's own strategy beats the default, and the default serves all others",
          "[policy]") {
  FailurePolicy policy;
  CHECK(policy.resolve(FailureType::timeout) == nullptr);

  policy.on(FailureType::timeout, retry()).otherwise(abort_run());
  CHECK(policy.decide(context_for(FailureType::timeout)).kind == Kind::retry);
  CHECK(policy.decide(context_for(FailureType::unknown)).kind == Kind::abort);
  CHECK(policy.resolve(FailureType::timeout)->description().rfind("retry(", 0) == 0);

  policy.on(FailureType::timeout, escalate());
  CHECK(policy.decide(context_for(FailureType::timeout)).kind == Kind::escalate);
}

TEST_CASE("a failure without a strategy is escalated with a message that names its type",
          "[policy]") {
  const RecoveryAction action = FailurePolicy{}.decide(context_for(FailureType::loop_detected));
  CHECK(action.kind == Kind::escalate);
  CHECK_THAT(action.message, ContainsSubstring("loop_detected"));
}

TEST_CASE("any function of a failure is a strategy", "[policy]") {
  FailurePolicy policy;
  policy.otherwise([](const FailureContext& context) {
    return RecoveryAction::retry("after attempt " + std::to_string(context.attempt_number));
  });
  CHECK(policy.decide(context_for(FailureType::unknown).attempt_number(7)).hint ==
        "after attempt 7");
  CHECK_THAT(policy.describe(), ContainsSubstring("timeout: custom\n"));
  REQUIRE_OK(check_policy(policy));
}

TEST_CASE("the same policy has the same description, another limit another one", "[policy]") {
  const auto described = [](int attempts) {
    FailurePolicy policy;
    policy.otherwise(retry_with_backoff({.max_attempts = attempts}));
    return policy.describe();
  };
  CHECK(described(5) == described(5));
  CHECK(described(5) != described(6));
}

TEST_CASE("a policy with an impossible setting is refused by type, option, value and range",
          "[policy]") {
  FailurePolicy policy;
  policy.on(FailureType::timeout, retry({.max_attempts = 0}));
  const auto own = check_policy(policy);
  CHECK_ERRC(Errc::invalid_argument, own);
  CHECK_THAT(own.error().detail, ContainsSubstring("timeout") && ContainsSubstring("retry(") &&
                                     ContainsSubstring("max_attempts is 0") &&
                                     ContainsSubstring("1 or more"));

  policy.on(FailureType::timeout, retry()).otherwise(sequence({}));
  const auto fallback_of_all = check_policy(policy);
  CHECK_ERRC(Errc::invalid_argument, fallback_of_all);
  CHECK_THAT(fallback_of_all.error().detail,
             ContainsSubstring("default") && ContainsSubstring("at least one"));
}

TEST_CASE("an invalid strategy that is asked all the same escalates and says why", "[policy]") {
  const RecoveryAction action =
      retry({.delay = std::chrono::seconds(-1)})(context_for(FailureType::timeout));
  CHECK(action.kind == Kind::escalate);
  CHECK_THAT(action.message, ContainsSubstring("delay is -1s"));
}

TEST_CASE("a strategy from a null function is refused instead of ignored", "[policy]") {
  FailurePolicy policy;
  policy.on(FailureType::timeout, Strategy::Function{});
  const auto checked = check_policy(policy);
  CHECK_ERRC(Errc::invalid_argument, checked);
  CHECK_THAT(checked.error().detail, ContainsSubstring("timeout") && ContainsSubstring("null"));
}

TEST_CASE("settings that the run's limits never reach are warned of", "[policy]") {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry_with_backoff({.max_attempts = 10}))
      .otherwise(retry({.max_attempts = 4}));
  CHECK(unreachable_settings(policy, {.max_attempts = 20, .max_attempts_per_type = 10}).empty());

  const auto by_type =
      unreachable_settings(policy, {.max_attempts = 20, .max_attempts_per_type = 9});
  REQUIRE(by_type.size() == 1);
  CHECK_THAT(by_type[0], ContainsSubstring("external_fault") && ContainsSubstring("10 attempts") &&
                             ContainsSubstring("limits.max_attempts_per_type") &&
                             ContainsSubstring("after 9"));

  const auto in_total =
      unreachable_settings(policy, {.max_attempts = 3, .max_attempts_per_type = 9});
  REQUIRE(in_total.size() == 2);
  CHECK_THAT(in_total[1],
             ContainsSubstring("default") && ContainsSubstring("limits.max_attempts ends"));
}

TEST_CASE("an answer behind exhausted retries is warned of if the limits end the run first",
          "[policy]") {
  FailurePolicy policy;
  policy.otherwise(chain(retry({.max_attempts = 5}), fallback("none")));
  CHECK(unreachable_settings(policy, {.max_attempts_per_type = 6}).empty());
  CHECK(unreachable_settings(policy, {.max_attempts_per_type = 5}).size() == 1);

  policy.otherwise(sequence({retry(), retry(), fallback("none")}));
  CHECK(unreachable_settings(policy, {.max_attempts_per_type = 4}).empty());
  CHECK(unreachable_settings(policy, {.max_attempts_per_type = 3}).size() == 1);
}

TEST_CASE("a condition is asked before the types, and the first that holds decides", "[policy]") {
  FailurePolicy policy;
  policy.on(FailureType::timeout, escalate("by type"))
      .when(exception_is("ConnectionError"), escalate("by exception"), "the connection broke")
      .when([](const FailureContext& context) { return context.attempt_number > 3; },
            escalate("by number"), "it takes long");
  FailureContext context;
  context.classification.type = FailureType::timeout;
  CHECK(policy.decide(context).message == "by type");
  context.attempt_number = 4;
  CHECK(policy.decide(context).message == "by number");
  for (const char* type : {"ConnectionError", "requests.ConnectionError", "net::ConnectionError"}) {
    context.exception_type = type;
    CHECK(policy.decide(context).message == "by exception");
  }
  for (const char* type : {"NoConnectionError", "ConnectionErrors", ""}) {
    context.exception_type = type;
    CHECK(policy.decide(context).message == "by number");
  }
  CHECK_THAT(policy.describe(), ContainsSubstring("when the connection broke: escalate"));
}

TEST_CASE("a condition without predicate or strategy is refused, and so is one with a problem",
          "[policy]") {
  CHECK_ERRC(Errc::invalid_argument,
             check_policy(FailurePolicy().when(nullptr, escalate("x"), "never")));
  CHECK_ERRC(Errc::invalid_argument,
             check_policy(FailurePolicy().when(exception_is("E"), Strategy(), "empty")));
  const auto bad = check_policy(
      FailurePolicy().when(exception_is("E"), Strategy::invalid("odd", "n is 0"), "bad"));
  CHECK_ERRC(Errc::invalid_argument, bad);
  CHECK_THAT(bad.error().detail, ContainsSubstring("when bad"));
}

TEST_CASE("a number is told with its noun", "[policies]") {
  const auto told = [](int back) {
    return describe(RecoveryAction::rollback({.kind = RollbackTarget::Kind::back, .back = back}));
  };
  CHECK_THAT(told(1), ContainsSubstring("1 checkpoint before"));
  CHECK_THAT(told(2), ContainsSubstring("2 checkpoints before"));
}

TEST_CASE("a wait is told in units that a person reads", "[policies]") {
  using namespace std::chrono_literals;
  const auto told = [](Duration wait) { return describe(RecoveryAction::retry("", wait)); };
  CHECK(told(200ms) == "retry after 0.2 s");
  CHECK(told(20s) == "retry after 20 s");
  CHECK(told(90s) == "retry after 90 s");
  CHECK(told(20min + 30s) == "retry after 20 min 30 s");
  CHECK(told(1h - 100ms) == "retry after 1 h");
  CHECK(told(3600s) == "retry after 1 h");
  CHECK(told(26h + 10min) == "retry after 1 d 2 h");
  CHECK(told(365 * 24h) == "retry after 365 d");
}
