// SPDX-License-Identifier: MIT
#pragma once
// Which step is to blame: the earliest one whose evidence explains the failure. Private.

#include "triage/classifier.hpp"

namespace triage::inline v0_1::detail {

// Sets result.critical_step, and says why among the evidence where it is not the step at which the
// failure showed. `result` is a classification that is done but for that; its critical_step is the
// first step of a loop or the last one that failed.
void blame_step(const ClassifierInput& input, Classification& result);

}  // namespace triage::inline v0_1::detail
