// SPDX-License-Identifier: MIT
#pragma once
// What the edits of a branch change in the state that it begins with.

#include "finished.hpp"
#include "triage/workflow/run.hpp"

namespace triage::inline v0_1::workflow::detail {

// Keys of the run's state that the branch begins with instead of those of the checkpoint. Errors:
// Errc::invalid_argument, naming the edit and what is allowed.
[[nodiscard]] Result<Json> branch_edits(const Plan& plan, const State& checkpoint,
                                        const Fork& edits);

// The run's inputs, with those that its branch has changed.
[[nodiscard]] Json edited_inputs(const Json& inputs, const State& state);

}  // namespace triage::inline v0_1::workflow::detail
