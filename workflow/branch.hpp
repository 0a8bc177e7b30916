// SPDX-License-Identifier: MIT
#pragma once
// What the edits of a branch change in the state that it begins with.

#include "finished.hpp"
#include "triage/workflow/run.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Keys of the run's state that the branch begins with instead of those of the checkpoint. Errors:
// Errc::invalid_argument, naming the edit and what is allowed.
// executors: their paths. origin: the run of the checkpoint.
[[nodiscard]] Result<Json> branch_edits(const std::vector<std::string>& executors,
                                        const RunId& origin, const State& checkpoint,
                                        const Fork& edits);

// The run's inputs, with those that its branch has changed.
[[nodiscard]] Json edited_inputs(const Json& inputs, const State& state);

}  // namespace triage::inline v0_1::workflow::detail
