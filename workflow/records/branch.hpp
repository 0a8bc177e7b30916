// SPDX-License-Identifier: MIT
#pragma once
// How the edits of a branch change the state it begins with.

#include "finished.hpp"
#include "triage/workflow/run.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The keys of the run's state that replace those of the checkpoint in the branch. Errors:
// Errc::invalid_argument, naming the edit and what is allowed. executors: their paths. origin: the
// checkpoint's run. inputs: that run's.
[[nodiscard]] Result<Json> branch_edits(const std::vector<std::string>& executors,
                                        const RunId& origin, const Json& inputs,
                                        const State& checkpoint, const Fork& edits);

// The run's inputs, as changed by its branch.
[[nodiscard]] Json edited_inputs(const Json& inputs, const State& state);

}  // namespace triage::inline v0_1::workflow::detail
