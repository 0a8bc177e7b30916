// SPDX-License-Identifier: MIT
#include "triage/budget.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

template <class T>
void subtract(T& from, T amount) noexcept {
  from -= std::min(from, amount);
}

Error exhausted(const std::string& what, const std::string& wanted, const std::string& used,
                const std::string& limit) {
  return {Errc::exhausted, "the budget allows no call with " + wanted + " " + what + ": " + used +
                               " of " + limit + " are spent or reserved"};
}

bool fits(std::uint64_t used, std::uint64_t wanted, std::uint64_t limit) noexcept {
  return limit == 0 || (used < limit && wanted <= limit - used);
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  settle(Usage{.calls = 0});
  budget_ = std::exchange(other.budget_, nullptr);
  reserved_ = other.reserved_;
  other_ = std::move(other.other_);
  return *this;
}

void Reservation::settle(const Usage& actual) noexcept {
  if (const auto budget = std::exchange(budget_, nullptr)) budget->settle(reserved_, actual);
  if (const auto other = std::exchange(other_, nullptr)) other->settle(actual);
}

Result<std::shared_ptr<Budget>> Budget::create(const BudgetLimits& limits,
                                               std::shared_ptr<Budget> parent) {
  if (!std::isfinite(limits.max_cost_usd) || limits.max_cost_usd < 0) {
    return Error{Errc::invalid_argument, "budget: max_cost_usd is " +
                                             std::to_string(limits.max_cost_usd) +
                                             "; allowed is 0 or more, finite"};
  }
  return outcome::success(std::shared_ptr<Budget>(new Budget(limits, std::move(parent))));
}

Result<Reservation> Budget::reserve(const Usage& estimate) {
  if (!std::isfinite(estimate.cost_usd) || estimate.cost_usd < 0) {
    return Error{Errc::invalid_argument, "a call's estimated cost is " +
                                             std::to_string(estimate.cost_usd) +
                                             " USD; allowed is 0 or more, finite"};
  }
  TRIAGE_TRYV(take(estimate));
  return outcome::success(Reservation(shared_from_this(), estimate));
}

// The parent first: what it refuses is not reserved here.
Result<void> Budget::take(const Usage& estimate) {
  if (parent_) {
    TRIAGE_TRYV(parent_->take(estimate));
  }
  const auto refused = [&]() -> Result<void> {
    const std::scoped_lock lock(mutex_);
    Usage used = spent_;
    used += reserved_;
    if (!fits(used.tokens(), estimate.tokens(), limits_.max_tokens)) {
      return exhausted("tokens", std::to_string(estimate.tokens()), std::to_string(used.tokens()),
                       std::to_string(limits_.max_tokens));
    }
    if (!fits(used.calls, estimate.calls, limits_.max_calls)) {
      return exhausted("calls", std::to_string(estimate.calls), std::to_string(used.calls),
                       std::to_string(limits_.max_calls));
    }
    const double limit = limits_.max_cost_usd;
    if (limit > 0 && (used.cost_usd >= limit || used.cost_usd + estimate.cost_usd > limit)) {
      return exhausted("USD", std::to_string(estimate.cost_usd), std::to_string(used.cost_usd),
                       std::to_string(limit));
    }
    reserved_ += estimate;
    return outcome::success();
  }();
  if (!refused && parent_) parent_->settle(estimate, Usage{.calls = 0});
  return refused;
}

void Budget::settle(const Usage& reserved, const Usage& actual) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    subtract(reserved_.input_tokens, reserved.input_tokens);
    subtract(reserved_.output_tokens, reserved.output_tokens);
    subtract(reserved_.calls, reserved.calls);
    subtract(reserved_.cost_usd, reserved.cost_usd);
    spent_ += actual;
  }
  if (parent_) parent_->settle(reserved, actual);
}

void Budget::add(const Usage& actual) noexcept { settle(Usage{.calls = 0}, actual); }

Usage Budget::spent() const {
  const std::scoped_lock lock(mutex_);
  return spent_;
}

}  // namespace triage::inline v0_1
