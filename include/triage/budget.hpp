// SPDX-License-Identifier: MIT
#pragma once
// Tokens, money and calls that may be spent: asked before, settled after.

#include "triage/result.hpp"
#include "triage/usage.hpp"

#include <cstdint>
#include <memory>
#include <mutex>

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

  // What the call really spent, even if it is more than was reserved. The first call counts.
  void settle(const Usage& actual) noexcept;
  // `other` is settled together with this one.
  void also(Reservation&& other) { other_ = std::make_unique<Reservation>(std::move(other)); }

 private:
  friend class Budget;
  Reservation(std::shared_ptr<Budget> budget, const Usage& reserved)
      : budget_(std::move(budget)), reserved_(reserved) {}

  std::shared_ptr<Budget> budget_{};
  Usage reserved_{.calls = 0};
  std::unique_ptr<Reservation> other_{};
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
  // What was spent without a reservation; counts in full, whatever the limits say.
  void add(const Usage& actual) noexcept;
  [[nodiscard]] Usage spent() const;

 private:
  friend class Reservation;
  Budget(const BudgetLimits& limits, std::shared_ptr<Budget> parent)
      : limits_(limits), parent_(std::move(parent)) {}
  Result<void> take(const Usage& estimate);
  void settle(const Usage& reserved, const Usage& actual) noexcept;

  BudgetLimits limits_;
  std::shared_ptr<Budget> parent_;
  mutable std::mutex mutex_{};
  Usage spent_{.calls = 0};
  Usage reserved_{.calls = 0};
};

}  // namespace triage::inline v0_1
