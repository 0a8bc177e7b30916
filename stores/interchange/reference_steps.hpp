// SPDX-License-Identifier: MIT
#pragma once
// Steps of triage-agent and ours, each as the other.

#include "triage/json.hpp"
#include "triage/step.hpp"

#include <cstddef>

namespace triage::inline v0_1::detail {

// What we have no field for, such as the step's own time, goes into metadata "triage_agent".
[[nodiscard]] Step step_of_reference(Json step, std::size_t index);
// What triage-agent has no field for goes into metadata "triage"; so both ways lose nothing.
// `timestamp`: where the step says none itself.
[[nodiscard]] Json reference_of_step(const Step& step, std::size_t index, double timestamp);

}  // namespace triage::inline v0_1::detail
