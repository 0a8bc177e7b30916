// SPDX-License-Identifier: MIT
#pragma once
// Limits on tokens, money and calls: reserve before a call, settle after it.

#include "triage/result.hpp"
#include "triage/usage.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// 0: no limit.
struct BudgetLimits {
  std::uint64_t max_tokens = 0;  // Input and output.
  double max_cost_usd = 0.0;     // Finite, 0 or more.
  std::uint64_t max_calls = 0;
};

class Budget;

// What a call may spend. Move-only; without settle(), its destructor settles for nothing spent.
// Not thread-safe.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { settle(Usage{.calls = 0}); }

  // What the call actually spent, even if above the reservation. Only the first call counts. A
  // negative or non-finite cost is replaced by the estimate.
  void settle(const Usage& actual) noexcept;

 private:
  friend class Budget;
  Reservation(std::vector<std::shared_ptr<Budget>> budgets, const Usage& reserved)
      : budgets_(std::move(budgets)), reserved_(reserved) {}

  std::vector<std::shared_ptr<Budget>> budgets_{};  // No duplicates.
  Usage reserved_{.calls = 0};
};

// A call starts only if its estimate fits on top of what is spent and reserved. So the limits can
// be exceeded only by what calls in progress spend beyond their estimates. A budget with a parent
// draws from both.
// Thread-safety: all members may be called from several threads at once.
class Budget : public std::enable_shared_from_this<Budget> {
 public:
  // Errors: Errc::invalid_argument for a negative or non-finite limit.
  [[nodiscard]] static Result<std::shared_ptr<Budget>> create(const BudgetLimits& limits,
                                                              std::shared_ptr<Budget> parent = {});

  // Errors: Errc::exhausted, with what is left; Errc::invalid_argument for a negative or non-finite
  // cost.
  [[nodiscard]] Result<Reservation> reserve(const Usage& estimate);
  // Reserves from all of these and their parents, from each only once, and from none if one
  // refuses. Null budgets are skipped. Errors: those of reserve(estimate).
  [[nodiscard]] static Result<Reservation> reserve(std::span<const std::shared_ptr<Budget>> budgets,
                                                   const Usage& estimate);
  // Adds what was spent without a reservation; counts in full, whatever the limits. A negative or
  // non-finite cost counts as 0.
  void add(const Usage& actual) noexcept;
  [[nodiscard]] Usage spent() const;

 private:
  friend class Reservation;
  Budget(const BudgetLimits& limits, std::shared_ptr<Budget> parent)
      : limits_(limits), parent_(std::move(parent)) {}
  Result<void> take(const Usage& estimate);  // From this one alone, like the next member.
  void settle(const Usage& reserved, const Usage& actual) noexcept;

  BudgetLimits limits_;
  std::shared_ptr<Budget> parent_;
  mutable std::mutex mutex_{};
  Usage spent_{.calls = 0};
  Usage reserved_{.calls = 0};
};

}  // namespace triage::inline v0_1
