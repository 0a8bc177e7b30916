// SPDX-License-Identifier: MIT
#pragma once
// For the wings: checkpoints that they make for themselves.

#include "triage/attempt.hpp"

#include <string_view>

namespace triage::inline v0_1::detail {

// As Attempt::checkpoint. label: begins with own_label_prefix.
Result<CheckpointId> own_checkpoint(Attempt& attempt, std::string_view label);

}  // namespace triage::inline v0_1::detail
