// SPDX-License-Identifier: MIT
#pragma once
// Plain retries: starts over after a fixed wait.

#include "triage/policy.hpp"

#include <string>

namespace triage::inline v0_1 {

struct RetryOptions {
  int max_attempts = 3;  // Failed attempts with one type, the first included: 3 attempts = 2
                         // retries. 1 or more; 1 escalates at once.
  Duration delay{0};     // Before every retry; 0 or more. Ignores Classification::retry_after;
                         // retry_with_backoff() honours it.
  std::string hint{};    // For the next attempt.
};

// RETRY until max_attempts attempts of the run failed with the same type, then ESCALATE.
[[nodiscard]] Strategy retry(RetryOptions options = {});

}  // namespace triage::inline v0_1
