// SPDX-License-Identifier: MIT
#include "triage/budget.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

constexpr double rounding = 1e-9;  // Costs are added, so the last digits of a sum may be off.

template <class T>
void subtract(T& from, T amount) noexcept {
  from -= std::min(from, amount);
}

Error exhausted(const std::string& what, const std::string& wanted, const std::string& used,
                const std::string& limit) {
  return {Errc::exhausted, "the budget allows no call with " + wanted + " " + what + ": " + used +
                               " of " + limit + " are spent or reserved"};
}

bool is_cost(double usd) noexcept { return std::isfinite(usd) && usd >= 0; }

bool fits(std::uint64_t used, std::uint64_t wanted, std::uint64_t limit) noexcept {
  return limit == 0 || (used < limit && wanted <= limit - used);
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  settle(Usage{.calls = 0});
  budgets_ = std::exchange(other.budgets_, {});
  reserved_ = other.reserved_;
  return *this;
}

void Reservation::settle(const Usage& actual) noexcept {
  for (const auto& budget : std::exchange(budgets_, {})) budget->settle(reserved_, actual);
}

Result<std::shared_ptr<Budget>> Budget::create(const BudgetLimits& limits,
                                               std::shared_ptr<Budget> parent) {
  if (!is_cost(limits.max_cost_usd)) {
    return Error{Errc::invalid_argument, "budget: max_cost_usd is " +
                                             std::to_string(limits.max_cost_usd) +
                                             "; allowed is 0 or more, finite"};
  }
  return outcome::success(std::shared_ptr<Budget>(new Budget(limits, std::move(parent))));
}

Result<Reservation> Budget::reserve(const Usage& estimate) {
  const std::shared_ptr<Budget> self = shared_from_this();
  return reserve({&self, 1}, estimate);
}

Result<Reservation> Budget::reserve(std::span<const std::shared_ptr<Budget>> budgets,
                                    const Usage& estimate) {
  if (!is_cost(estimate.cost_usd)) {
    return Error{Errc::invalid_argument, "a call's estimated cost is " +
                                             std::to_string(estimate.cost_usd) +
                                             " USD; allowed is 0 or more, finite"};
  }
  std::vector<std::shared_ptr<Budget>> distinct;
  for (const auto& named : budgets) {
    for (auto budget = named; budget; budget = budget->parent_) {
      // Its ancestors were added with it.
      if (std::find(distinct.begin(), distinct.end(), budget) != distinct.end()) break;
      distinct.push_back(budget);
    }
  }
  for (std::size_t taken = distinct.size(); taken-- > 0;) {  // Parents first.
    auto took = distinct[taken]->take(estimate);
    if (took) continue;
    for (std::size_t i = taken + 1; i < distinct.size(); ++i) {
      distinct[i]->settle(estimate, Usage{.calls = 0});
    }
    return std::move(took).error();
  }
  return outcome::success(Reservation(std::move(distinct), estimate));
}

Result<void> Budget::take(const Usage& estimate) {
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
  const bool is_spent = used.cost_usd >= limit * (1 - rounding);
  if (limit > 0 && (is_spent || used.cost_usd + estimate.cost_usd > limit * (1 + rounding))) {
    return exhausted("USD", std::to_string(estimate.cost_usd), std::to_string(used.cost_usd),
                     std::to_string(limit));
  }
  reserved_ += estimate;
  return outcome::success();
}

void Budget::settle(const Usage& reserved, const Usage& actual) noexcept {
  Usage spent = actual;
  if (!is_cost(spent.cost_usd)) spent.cost_usd = reserved.cost_usd;
  const std::scoped_lock lock(mutex_);
  subtract(reserved_.input_tokens, reserved.input_tokens);
  subtract(reserved_.output_tokens, reserved.output_tokens);
  subtract(reserved_.calls, reserved.calls);
  subtract(reserved_.cost_usd, reserved.cost_usd);
  spent_ += spent;
}

void Budget::add(const Usage& actual) noexcept {
  for (Budget* budget = this; budget != nullptr; budget = budget->parent_.get()) {
    budget->settle(Usage{.calls = 0}, actual);
  }
}

Usage Budget::spent() const {
  const std::scoped_lock lock(mutex_);
  return spent_;
}

}  // namespace triage::inline v0_1
