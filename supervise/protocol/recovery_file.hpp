// SPDX-License-Identifier: MIT
#pragma once
// Why an attempt is made, as a file for the child.

#include "triage/attempt.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// action, failure_type, reason, hint, subgoal, evidence, checkpoint_id, tools, state. Null in a
// run's first attempt.
[[nodiscard]] Json recovery_json(const Attempt& attempt);
// Writes a file that only its owner can access (0600). Errors: Errc::io.
[[nodiscard]] Result<void> write_private(const std::string& path, const std::string& text);

}  // namespace triage::inline v0_1::supervise
