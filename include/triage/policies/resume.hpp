// SPDX-License-Identifier: MIT
#pragma once
// Continues from where the attempt stood, for the part of the plan that is still open.

#include "triage/policy.hpp"

#include <string>

namespace triage::inline v0_1 {

struct ResumeFromSubgoalOptions {
  std::string subgoal{};  // Empty: FailureContext::incomplete_subgoal, from the contract.
  std::string hint{};     // For the next attempt.
};

// RESUME from the newest checkpoint with the open subgoal. ESCALATE if neither the options nor the
// context name a subgoal.
[[nodiscard]] Strategy resume_from_subgoal(ResumeFromSubgoalOptions options = {});

}  // namespace triage::inline v0_1
