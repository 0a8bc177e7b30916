// SPDX-License-Identifier: MIT
#pragma once
// The library's own checkpoints are stored with a label that users cannot give, and listed with a
// trigger instead of it.

#include "triage/checkpoint.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

inline constexpr std::string_view own_label_prefix = "triage/";

// With the trigger in place of a label of the library.
[[nodiscard]] CheckpointInfo as_listed(CheckpointInfo stored);
// The label that it is stored with.
[[nodiscard]] std::string stored_label(const CheckpointInfo& listed);

}  // namespace triage::inline v0_1::detail
