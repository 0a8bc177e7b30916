// SPDX-License-Identifier: MIT
#pragma once
// What the store knows of a run of a workflow, read without going on with it.

#include "driver.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Whether the stored run is of this workflow (not asked with `force`) and, if they are given, of
// these inputs. Errors: Errc::not_found; Errc::conflict, with the parts or the path that differ;
// the store's.
[[nodiscard]] Result<void> check_stored_task(CheckpointStore& store, const RunId& run,
                                             const Workflow& workflow, const Json* inputs,
                                             bool force);
// {"inputs", "parts"} of a run's start. Errors: Errc::not_found; Errc::conflict, it is not a run of
// a workflow; the store's.
[[nodiscard]] Result<Json> stored_task(CheckpointStore& store, const RunId& run);
// The state of a checkpoint that this workflow may go on from. Errors: the same.
[[nodiscard]] Result<State> state_to_begin_with(CheckpointStore& store,
                                                const CheckpointId& checkpoint,
                                                const Workflow& workflow, bool force);
// Where two values differ first, as a JSON pointer; the whole is "/".
[[nodiscard]] std::string first_difference(const Json& one, const Json& other);

// The entry, those with a label, and the newest `most` (0: all) of the others. Errors: the store's.
[[nodiscard]] Result<std::vector<CheckpointInfo>> stored_checkpoints(CheckpointStore& store,
                                                                     const RunId& run,
                                                                     std::size_t most);

// The record of a branch, which nothing runs yet. Errors: those of TriageAgent::fork.
[[nodiscard]] Result<void> make_branch(std::shared_ptr<CheckpointStore> store,
                                       const std::string& workflow, std::string_view checkpoint,
                                       const RunId& branch, Json changed, const Fork& edits);

// The requests without an answer. Errors: the store's.
[[nodiscard]] Result<std::vector<Asked>> pending_in(CheckpointStore& store, const RunId& run);
// Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_answer(const Workflow& workflow, const Asked& asked,
                                        const Json& answer);
// What the places that a run returned stand for.
[[nodiscard]] Result<std::vector<Output>> stored_outputs(CheckpointStore& store, const RunId& run,
                                                         const Workflow& workflow,
                                                         const Json& places);

}  // namespace triage::inline v0_1::workflow::detail
