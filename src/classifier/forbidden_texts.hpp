// SPDX-License-Identifier: MIT
#pragma once
// Texts and patterns of a contract that an agent must not say. Private.

#include "classifier/findings.hpp"

namespace triage::inline v0_1::detail {

// Of the outputs of models that the steps recorded, the newest first; at most 256 steps, 4 MB.
void check_outputs(const ClassifierInput& input, Findings& findings);
// Of the newest of them only: what an agent said before it returned.
void check_last_output(const ClassifierInput& input, Findings& findings);
// Of the result in the input, if there is one: texts in it and names of members, at most 4 MB.
void check_result_texts(const ClassifierInput& input, Findings& findings);

}  // namespace triage::inline v0_1::detail
