// SPDX-License-Identifier: MIT
#pragma once
// For the wings: checkpoints that they make for themselves.

#include "triage/attempt.hpp"

#include <string_view>

namespace triage::inline v0_1::detail {

// As Attempt::checkpoint. label: begins with own_prefix.
Result<CheckpointId> own_checkpoint(Attempt& attempt, std::string_view label);
// The same, but durable only with what is written next: for checkpoints that a process killed
// before then would make again. It is waited for if the run has an observer, or writes at once.
Result<CheckpointId> own_checkpoint_soon(Attempt& attempt, std::string_view label);

}  // namespace triage::inline v0_1::detail
