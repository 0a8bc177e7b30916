// SPDX-License-Identifier: MIT
#pragma once
// Keeps retries a small share of all calls, so that they do not amplify an outage.

#include "triage/gate.hpp"
#include "triage/key_space.hpp"

#include <memory>
#include <string_view>

namespace triage::inline v0_1 {

namespace detail {
struct RetryTokens;
template <class State>
class KeyedStates;
}  // namespace detail

// Tokens per (tool, endpoint). First attempts always pass; a retry passes if more than `reserve`
// tokens are left and they cover its cost. Only external_fault and timeout count as failures.
struct RetryBudgetOptions {
  double max_tokens = 500;             // Also the initial amount. Finite, above 0.
  double reserve = 0;                  // No retry at or below this. 0 to below max_tokens.
  double retry_cost = 14;              // Of a retry after a transient failure. 0 or more.
  double throttled_cost = 5;           // Of a retry after rate_limited or overloaded. 0 or more.
  double per_failure = 0;              // Deducted for every failed call. 0 or more.
  double per_success = 1;              // Added for every successful first attempt. 0 or more.
  bool refund = true;                  // A successful retry returns its cost.
  std::shared_ptr<KeySpace> shared{};  // One budget for all processes. Null: for this object.
};

// AWS SDK standard retry quota as of 2026: 500 tokens; a transient retry costs 14, a throttled one
// 5; each clean success adds 1. Source: aws-sdk-go-v2 pull request 3400.
[[nodiscard]] RetryBudgetOptions aws_retry_quota();
// gRPC retry throttling with maxTokens 10 and tokenRatio 0.1: a failure costs 1, a success adds
// 0.1, no retries at or below half. Source: gRFC A6.
[[nodiscard]] RetryBudgetOptions grpc_retry_throttle();

// The scope is the object: an agent, a process, or, with a key space, all processes on a store.
// Nested agents that share it draw from one budget.
// Thread-safety: all members may be called from several threads at once.
class RetryBudget final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<RetryBudget>> create(
      RetryBudgetOptions options = aws_retry_quota());
  ~RetryBudget() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "retry_budget"; }
  [[nodiscard]] bool needs_wall_time() const noexcept override { return false; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;
  [[nodiscard]] double tokens(const GateRequest& key) const;

 private:
  explicit RetryBudget(RetryBudgetOptions options);
  [[nodiscard]] double cost(FailureType after, std::string_view reason) const noexcept;

  RetryBudgetOptions options_;
  std::unique_ptr<detail::KeyedStates<detail::RetryTokens>> tokens_;
};

}  // namespace triage::inline v0_1
