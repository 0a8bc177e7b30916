// SPDX-License-Identifier: MIT
#pragma once
// A substitute answer instead of a failure.

#include "triage/policy.hpp"

#include <nlohmann/json_fwd.hpp>

namespace triage::inline v0_1 {

// FALLBACK: the run succeeds with this value, converted to the callable's result type;
// is_degraded() is true for the result. The value must pass check_json().
[[nodiscard]] Strategy fallback(nlohmann::json value);

}  // namespace triage::inline v0_1
