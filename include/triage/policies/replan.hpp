// SPDX-License-Identifier: MIT
#pragma once
// Again from the start, with the request to go about it in another way.

#include "triage/policy.hpp"

#include <string>

namespace triage::inline v0_1 {

struct ReplanOptions {
  std::string hint{};   // Told to the next attempt. Empty: a sentence that names the failure.
  int max_replans = 3;  // Of one failure type in a run; 0 or more; 0 escalates at once.
};

// REPLAN until max_replans failures of this type were answered by a REPLAN, then ESCALATE. Failures
// that something else dealt with do not count.
[[nodiscard]] Strategy replan(ReplanOptions options = {});

}  // namespace triage::inline v0_1
