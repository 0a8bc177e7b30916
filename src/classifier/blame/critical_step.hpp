// SPDX-License-Identifier: MIT
#pragma once
// Finds the step to blame: the earliest one whose evidence explains the failure. Private.

#include "triage/classifier.hpp"

namespace triage::inline v0_1::detail {

// Sets result.critical_step and, if it is not the step at which the failure showed, adds the reason
// to the evidence. `result` is otherwise complete; its critical_step is the first step of a loop or
// the last step that failed.
void blame_step(const ClassifierInput& input, Classification& result);

}  // namespace triage::inline v0_1::detail
