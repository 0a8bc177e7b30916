// SPDX-License-Identifier: MIT
#pragma once
// The library's own checkpoints are stored with a label that users cannot give, and listed with a
// trigger instead of it.

#include "triage/checkpoint.hpp"
#include "triage/detail/reserved.hpp"

#include <string>

namespace triage::inline v0_1::detail {

// With the trigger in place of a label of the library.
[[nodiscard]] CheckpointInfo as_listed(CheckpointInfo stored);
// The label that it is stored with.
[[nodiscard]] std::string stored_label(const CheckpointInfo& listed);

}  // namespace triage::inline v0_1::detail
