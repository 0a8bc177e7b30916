// SPDX-License-Identifier: MIT
#pragma once
// Why an attempt was made, as a file that its child can read.

#include "triage/attempt.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// action, failure_type, reason, hint, subgoal, evidence, checkpoint_id, tools, state. Null in the
// first attempt of a run.
[[nodiscard]] Json recovery_json(const Attempt& attempt);
// Writes it for its owner alone (0600). Errors: Errc::io.
[[nodiscard]] Result<void> write_private(const std::string& path, const std::string& text);

}  // namespace triage::inline v0_1::supervise
