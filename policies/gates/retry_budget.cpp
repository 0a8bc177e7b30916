// SPDX-License-Identifier: MIT
#include "triage/policies/retry_budget.hpp"

#include "describe.hpp"
#include "keyed_states.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace triage::inline v0_1 {

namespace detail {

// Stored as what was spent, so that a new key is full whatever the maximum is.
struct RetryTokens {
  double spent = 0;

  static constexpr bool in_common = true;
  [[nodiscard]] Loss loss(std::int64_t /*now*/) const {
    return spent > 0 ? Loss::little : Loss::nothing;
  }
  [[nodiscard]] Json to_json() const { return {{"spent", spent}}; }
  [[nodiscard]] static RetryTokens from_json(const Json& json) {
    const double spent = stored_number(json, "spent", 0.0);
    return {.spent = std::isfinite(spent) ? std::max(spent, 0.0) : 0.0};
  }
  void move(double tokens, double most) { spent = std::clamp(spent + tokens, 0.0, most); }
};

}  // namespace detail

namespace {

bool counts(FailureType type) {
  return type == FailureType::external_fault || type == FailureType::timeout;
}

}  // namespace

RetryBudgetOptions aws_retry_quota() { return {}; }

RetryBudgetOptions grpc_retry_throttle() {
  return {.max_tokens = 10,
          .reserve = 5,
          .retry_cost = 0,
          .throttled_cost = 0,
          .per_failure = 1,
          .per_success = 0.1,
          .refund = false};
}

Result<std::shared_ptr<RetryBudget>> RetryBudget::create(RetryBudgetOptions options) {
  detail::OptionMistakes mistakes("retry_budget");
  if (!std::isfinite(options.max_tokens) || options.max_tokens <= 0) {
    mistakes.refuse("max_tokens", detail::shortest(options.max_tokens), "a finite number above 0");
  } else if (!(options.reserve >= 0 && options.reserve < options.max_tokens)) {
    mistakes.refuse("reserve", detail::shortest(options.reserve), "0 to below max_tokens");
  }
  for (const auto& [name, value] :
       {std::pair<std::string_view, double>("retry_cost", options.retry_cost),
        {"throttled_cost", options.throttled_cost},
        {"per_failure", options.per_failure},
        {"per_success", options.per_success}}) {
    if (std::isfinite(value) && value >= 0) continue;
    mistakes.refuse(name, detail::shortest(value), "0 or more, finite");
  }
  TRIAGE_TRYV(mistakes.result());
  return outcome::success(std::shared_ptr<RetryBudget>(new RetryBudget(std::move(options))));
}

RetryBudget::RetryBudget(RetryBudgetOptions options)
    : options_(std::move(options)),
      tokens_(std::make_unique<detail::KeyedStates<detail::RetryTokens>>(
          options_.shared, detail::own_space(detail::OwnSpace::retry_budgets))) {}

RetryBudget::~RetryBudget() = default;

double RetryBudget::cost(FailureType after, std::string_view reason) const noexcept {
  const bool throttled =
      after == FailureType::external_fault && (reason == "rate_limited" || reason == "overloaded");
  return throttled ? options_.throttled_cost : options_.retry_cost;
}

GateAnswer RetryBudget::enter(const GateRequest& request) noexcept {
  if (!request.retry) return {};
  const double price = cost(request.after, request.after_reason);
  double left = 0;
  const bool passes = tokens_->update(request, 0, [&](detail::RetryTokens& tokens) {
    left = options_.max_tokens - tokens.spent;
    if (left <= options_.reserve || left < price) return false;
    tokens.move(price, options_.max_tokens);
    return true;
  });
  if (passes) return {};
  return {.kind = GateAnswer::Kind::refuse,
          .reason = "retry_budget_spent",
          .message = "the retry budget of " + detail::gate_subject(request) + " has " +
                     detail::shortest(left) + " of " + detail::shortest(options_.max_tokens) +
                     " tokens left; a retry needs " + detail::shortest(price) + " and more than " +
                     detail::shortest(options_.reserve)};
}

void RetryBudget::leave(const GateRequest& request, std::uint64_t /*ticket*/,
                        const GateOutcome* outcome) noexcept {
  double moved = 0;
  if (outcome == nullptr) {
    if (request.retry) moved = -cost(request.after, request.after_reason);  // It did not start.
  } else if (outcome->succeeded) {
    moved = -options_.per_success;
    if (request.retry && options_.refund) moved = -cost(request.after, request.after_reason);
  } else if (counts(outcome->type)) {
    moved = options_.per_failure;
  }
  if (moved == 0) return;
  tokens_->update(request, 0, [&](detail::RetryTokens& tokens) {
    tokens.move(moved, options_.max_tokens);
    return true;
  });
}

double RetryBudget::tokens(const GateRequest& key) const {
  return tokens_->update(key, 0, [&](const detail::RetryTokens& tokens) {
    return options_.max_tokens - tokens.spent;
  });
}

}  // namespace triage::inline v0_1
