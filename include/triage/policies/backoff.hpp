// SPDX-License-Identifier: MIT
#pragma once
// Retries that spare the other side: waits grow, are randomised, and are never shorter than the
// other side asked for.

#include "triage/policy.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

enum class Jitter : std::uint8_t {
  full,  // Uniform in [0, ceiling): agents that failed together spread out.
  none,  // The wait is the ceiling.
};
[[nodiscard]] std::string_view to_string(Jitter jitter) noexcept;

// Source: "full jitter", M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
struct BackoffOptions {
  int max_attempts = 5;  // Failed attempts with one type, the first included: 5 attempts = 4
                         // retries. 1 or more; 1 escalates at once.
  Duration base_delay = std::chrono::milliseconds(500);  // Ceiling of the first wait; 0 or more.
  Duration max_delay = std::chrono::seconds(30);         // Ceiling of every wait; 0 or more.
  double multiplier = 2.0;  // Growth of the ceiling; finite, 1 or more.
  Jitter jitter = Jitter::full;
  std::string hint{};  // For the next attempt.
};

// RETRY after a wait, until max_attempts attempts of the run failed with the same type, then
// ESCALATE. After the n-th failure of a type the wait is drawn below min(max_delay, base_delay ×
// multiplier^(n-1)) with FailureContext::random. A longer Classification::retry_after takes
// precedence, even over max_delay, because the other side named it; if it exceeds
// FailureContext::remaining, ESCALATE.
[[nodiscard]] Strategy retry_with_backoff(BackoffOptions options = {});

// The ceiling of the wait after the n-th failure; n below 1 counts as 1. Never overflows.
[[nodiscard]] Duration backoff_ceiling(const BackoffOptions& options, int failure) noexcept;

}  // namespace triage::inline v0_1
