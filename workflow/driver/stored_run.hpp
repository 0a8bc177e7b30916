// SPDX-License-Identifier: MIT
#pragma once
// What the store knows of a workflow's run, read without continuing it.

#include "driver.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Checks that the stored run belongs to this workflow (not with `force`) and, if given, to these
// inputs. Errors: Errc::not_found; Errc::conflict, naming the parts or the path that differ; the
// store's.
[[nodiscard]] Result<void> check_stored_task(CheckpointStore& store, const RunId& run,
                                             const Workflow& workflow, const Json* inputs,
                                             bool force);
// Only the inputs.
[[nodiscard]] Result<void> check_stored_inputs(CheckpointStore& store, const RunId& run,
                                               const Json& inputs);
// Whether the run began at this checkpoint of another one.
[[nodiscard]] bool is_branch_of(CheckpointStore& store, const RunId& run,
                                std::string_view checkpoint);
// {"inputs", "parts"} from the run's start. Errors: Errc::not_found; Errc::conflict if it is not a
// workflow's run; the store's.
[[nodiscard]] Result<Json> stored_task(CheckpointStore& store, const RunId& run);
// The state of a checkpoint from which this workflow may continue. Errors: the same.
[[nodiscard]] Result<State> state_to_begin_with(CheckpointStore& store,
                                                const CheckpointId& checkpoint,
                                                const Workflow& workflow, bool force);
// The first difference of two values as a JSON pointer; "/" for the whole.
[[nodiscard]] std::string first_difference(const Json& one, const Json& other);

// The entry, labelled ones, and the newest `most` (0: all) of the others. Errors: the store's.
[[nodiscard]] Result<std::vector<WorkflowCheckpoint>> stored_checkpoints(CheckpointStore& store,
                                                                         const RunId& run,
                                                                         std::size_t most);

// Creates a branch in the store without running it. Errors: those of TriageAgent::fork.
[[nodiscard]] Result<void> make_branch(std::shared_ptr<CheckpointStore> store,
                                       const std::string& workflow, std::string_view checkpoint,
                                       const RunId& branch, Json changed, const Fork& edits);

// The unanswered requests. Errors: the store's.
[[nodiscard]] Result<std::vector<Asked>> pending_in(CheckpointStore& store, const RunId& run);
// See WorkflowRun::answered().
[[nodiscard]] Result<std::optional<Json>> answer_in(CheckpointStore& store, const RunId& run,
                                                    std::string_view request);
// Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_answer(const Workflow& workflow, const Asked& asked,
                                        const Json& answer);
// The outputs at the places that a run returned.
[[nodiscard]] Result<std::vector<Output>> stored_outputs(CheckpointStore& store, const RunId& run,
                                                         const Workflow& workflow,
                                                         const Json& places);

}  // namespace triage::inline v0_1::workflow::detail
