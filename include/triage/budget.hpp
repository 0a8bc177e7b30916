// SPDX-License-Identifier: MIT
#pragma once
// Tokens, money and calls that may be spent: asked before, settled after.

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

// What a call may spend. Move-only; destroyed without settle(), nothing was spent.
// Thread-safety: none.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { settle(Usage{.calls = 0}); }

  // What the call really spent, even if it is more than was reserved. The first call counts. Where
  // the cost is negative or not finite, the estimated one is taken for it.
  void settle(const Usage& actual) noexcept;

 private:
  friend class Budget;
  Reservation(std::vector<std::shared_ptr<Budget>> budgets, const Usage& reserved)
      : budgets_(std::move(budgets)), reserved_(reserved) {}

  std::vector<std::shared_ptr<Budget>> budgets_{};  // Each once.
  Usage reserved_{.calls = 0};
};

// A call starts only if its estimate fits beside what is spent and reserved; so the limits are
// passed by no more than what the calls under way spend beyond their estimates. A budget with a
// parent draws from both.
// Thread-safety: all members may be called from several threads at once.
class Budget : public std::enable_shared_from_this<Budget> {
 public:
  // Errors: Errc::invalid_argument for a negative or non-finite limit.
  [[nodiscard]] static Result<std::shared_ptr<Budget>> create(const BudgetLimits& limits,
                                                              std::shared_ptr<Budget> parent = {});

  // Errors: Errc::exhausted, saying what is left; Errc::invalid_argument for a cost that is
  // negative or not finite.
  [[nodiscard]] Result<Reservation> reserve(const Usage& estimate);
  // From all of these and their parents: from each once, however often it is named or reached. What
  // one of them refuses is reserved in none. Null ones are left out. Errors: as above.
  [[nodiscard]] static Result<Reservation> reserve(std::span<const std::shared_ptr<Budget>> budgets,
                                                   const Usage& estimate);
  // What was spent without a reservation; counts in full, whatever the limits say. A cost that is
  // negative or not finite counts as none.
  void add(const Usage& actual) noexcept;
  [[nodiscard]] Usage spent() const;

 private:
  friend class Reservation;
  Budget(const BudgetLimits& limits, std::shared_ptr<Budget> parent)
      : limits_(limits), parent_(std::move(parent)) {}
  Result<void> take(const Usage& estimate);  // From this one alone, as the next one is.
  void settle(const Usage& reserved, const Usage& actual) noexcept;

  BudgetLimits limits_;
  std::shared_ptr<Budget> parent_;
  mutable std::mutex mutex_{};
  Usage spent_{.calls = 0};
  Usage reserved_{.calls = 0};
};

}  // namespace triage::inline v0_1
