// SPDX-License-Identifier: MIT
#pragma once
// Plain retries: again from the start, after a fixed wait.

#include "triage/policy.hpp"

#include <string>

namespace triage::inline v0_1 {

struct RetryOptions {
  int max_attempts = 3;  // That fail with one type, the first included: 3 attempts = 2 retries.
                         // 1 or more; 1 escalates at once.
  Duration delay{0};     // Waited before every retry; 0 or more. Classification::retry_after is
                         // not read: retry_with_backoff() honours it.
  std::string hint{};    // Told to the next attempt.
};

// RETRY until max_attempts attempts of the run failed with the same type, then ESCALATE.
[[nodiscard]] Strategy retry(RetryOptions options = {});

}  // namespace triage::inline v0_1
