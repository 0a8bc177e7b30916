// SPDX-License-Identifier: MIT
#pragma once
// What a run may spend before its failure is escalated.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <cstdint>

namespace triage::inline v0_1 {

struct Limits {
  // Total, including the first and those whose process died, except attempts that ended in a wait
  // that suspended the run. 1 to 1,000,000.
  int max_attempts = 20;
  int max_attempts_per_type = 10;  // Failed attempts with the same type. Likewise.
  // Since the run's start, while a process works on it; 0: no limit. No attempt, and no wait in the
  // process, begins that would not fit.
  Duration max_elapsed{0};
  std::uint64_t max_tokens = 0;  // Input and output, as recorded by record_usage; 0: no limit.
  double max_cost_usd = 0.0;     // Likewise.
  // A longer wait suspends the run instead of sleeping, if its store is durable; 0: no limit.
  Duration max_wait = std::chrono::minutes(10);

  friend bool operator==(const Limits&, const Limits&) = default;
};

// Errors: Errc::invalid_argument, naming the field, its value and what is allowed.
[[nodiscard]] Result<void> check_limits(const Limits& limits);

}  // namespace triage::inline v0_1
