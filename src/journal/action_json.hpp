// SPDX-License-Identifier: MIT
#pragma once
// How a recovery action is stored and read back.

#include "triage/json.hpp"
#include "triage/policy.hpp"

namespace triage::inline v0_1::detail {

[[nodiscard]] Json action_json(const RecoveryAction& action);
[[nodiscard]] RecoveryAction action_from(const Json& json);
// What a suspended run does when it is due: the recorded action, else the first allowed one, or
// resume if all are allowed.
[[nodiscard]] RecoveryAction action_when_due(const Json& suspended);

}  // namespace triage::inline v0_1::detail
