// SPDX-License-Identifier: MIT
#include "triage/limits.hpp"

#include <cmath>
#include <string>

namespace triage::inline v0_1 {
namespace {

constexpr int most_attempts = 1'000'000;

Error refused(const std::string& field, const std::string& value, const std::string& allowed) {
  return {Errc::invalid_argument, "limits." + field + " is " + value + "; allowed is " + allowed};
}

}  // namespace

Result<void> check_limits(const Limits& limits) {
  if (limits.max_attempts < 1 || limits.max_attempts > most_attempts) {
    return refused("max_attempts", std::to_string(limits.max_attempts), "1 to 1000000");
  }
  if (limits.max_attempts_per_type < 1 || limits.max_attempts_per_type > most_attempts) {
    return refused("max_attempts_per_type", std::to_string(limits.max_attempts_per_type),
                   "1 to 1000000");
  }
  if (limits.max_elapsed < Duration::zero()) {
    return refused("max_elapsed", std::to_string(limits.max_elapsed.count()) + " ns",
                   "0 (no limit) or more");
  }
  if (!std::isfinite(limits.max_cost_usd) || limits.max_cost_usd < 0.0) {
    return refused("max_cost_usd", std::to_string(limits.max_cost_usd),
                   "0 (no limit) or a positive finite number");
  }
  if (limits.max_wait < Duration::zero()) {
    return refused("max_wait", std::to_string(limits.max_wait.count()) + " ns",
                   "0 (no limit) or more");
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1
