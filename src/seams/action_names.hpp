// SPDX-License-Identifier: MIT
#pragma once
// The names of RecoveryAction::Kind.

#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

[[nodiscard]] const std::vector<std::string>& action_names();

}  // namespace triage::inline v0_1::detail
