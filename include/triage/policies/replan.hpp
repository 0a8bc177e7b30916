// SPDX-License-Identifier: MIT
#pragma once
// Starts over, asking the agent for another approach.

#include "triage/policy.hpp"

#include <string>

namespace triage::inline v0_1 {

struct ReplanOptions {
  std::string hint{};   // For the next attempt. Empty: a sentence that names the failure.
  int max_replans = 3;  // Per failure type and run; 0 or more; 0 escalates at once.
};

// REPLAN, until max_replans failures of this type were answered by REPLAN, then ESCALATE. Failures
// that were handled in other ways do not count.
[[nodiscard]] Strategy replan(ReplanOptions options = {});

}  // namespace triage::inline v0_1
