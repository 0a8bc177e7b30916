// SPDX-License-Identifier: MIT
#include "triage/policies/retry_budget.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/stores/memory.hpp"

#include <limits>

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using Kind = GateAnswer::Kind;

TEST_CASE("the AWS quota pays 14 for a transient retry and 5 for a throttled one",
          "[policies][budget]") {
  const auto gate = RetryBudget::create(aws_retry_quota()).value();
  CHECK(call(*gate, at(0ms, true), fault));
  CHECK(gate->tokens(at(0ms)) == 486);
  GateRequest throttled = at(0ms, true);
  throttled.after_reason = "rate_limited";
  CHECK(call(*gate, throttled, fault));
  CHECK(gate->tokens(at(0ms)) == 481);
  CHECK(call(*gate, throttled, success));  // Its cost is refunded.
  CHECK(gate->tokens(at(0ms)) == 481);
  CHECK(call(*gate, at(0ms), success));
  CHECK(gate->tokens(at(0ms)) == 482);
  int retries = 0;
  while (call(*gate, at(0ms, true), fault)) ++retries;
  CHECK(retries == 34);  // 482 / 14.
  CHECK(gate->enter(at(0ms, true)).reason == "retry_budget_spent");
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);  // First tries always pass.
}

TEST_CASE("the gRPC throttle stops retries at half of its tokens", "[policies][budget]") {
  const auto gate = RetryBudget::create(grpc_retry_throttle()).value();
  for (int i = 0; i < 4; ++i) CHECK(call(*gate, at(0ms), fault));
  CHECK(gate->tokens(at(0ms)) == 6);
  CHECK(call(*gate, at(0ms, true), fault));
  CHECK(gate->enter(at(0ms, true)).kind == Kind::refuse);
  CHECK(call(*gate, at(0ms), success));
  CHECK(gate->tokens(at(0ms)) == Approx(5.1));
  CHECK(gate->enter(at(0ms, true)).kind == Kind::pass);
}

TEST_CASE("failures that no retry mends cost nothing", "[policies][budget]") {
  const auto gate = RetryBudget::create(grpc_retry_throttle()).value();
  const GateOutcome denied{.succeeded = false, .type = FailureType::access_denied};
  for (int i = 0; i < 20; ++i) CHECK(call(*gate, at(0ms), denied));
  CHECK(gate->tokens(at(0ms)) == 10);
}

TEST_CASE("a retry that was never made gives its cost back", "[policies][budget]") {
  const auto gate = RetryBudget::create(aws_retry_quota()).value();
  const GateAnswer answer = gate->enter(at(0ms, true));
  CHECK(gate->tokens(at(0ms)) == 486);
  gate->leave(at(0ms, true), answer.ticket, nullptr);
  CHECK(gate->tokens(at(0ms)) == 500);
}

TEST_CASE("processes on one key space share the budget", "[policies][budget]") {
  RetryBudgetOptions options = aws_retry_quota();
  options.shared = std::make_shared<MemoryStore>();
  const auto here = RetryBudget::create(options).value();
  const auto there = RetryBudget::create(options).value();
  CHECK(call(*here, at(0ms, true), fault));
  CHECK(there->tokens(at(0ms)) == 486);
}

TEST_CASE("a total outage is hardly multiplied", "[policies][budget]") {
  // 100 clients of one process, each trying every second for a minute.
  const auto gate = RetryBudget::create(grpc_retry_throttle()).value();
  int calls = 0;
  for (int client = 0; client < 100; ++client) calls += call(*gate, at(0ms), fault) ? 1 : 0;
  CHECK(calls == 100);
  for (int second = 1; second <= 60; ++second) {
    for (int client = 0; client < 100; ++client) {
      calls += call(*gate, at(std::chrono::seconds(second), true), fault) ? 1 : 0;
    }
  }
  CHECK(calls <= 120);
}

TEST_CASE("options of a retry budget that make no sense are refused", "[policies][budget]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_ERRC(Errc::invalid_argument, RetryBudget::create({.max_tokens = 0}));
  CHECK_ERRC(Errc::invalid_argument, RetryBudget::create({.max_tokens = nan}));
  CHECK_ERRC(Errc::invalid_argument, RetryBudget::create({.reserve = 500}));
  CHECK_ERRC(Errc::invalid_argument, RetryBudget::create({.per_success = nan}));
  const auto made = RetryBudget::create({.retry_cost = -1});
  CHECK_ERRC(Errc::invalid_argument, made);
  CHECK(made.error().detail == "retry_budget: retry_cost is -1; allowed is 0 or more, finite");
}
