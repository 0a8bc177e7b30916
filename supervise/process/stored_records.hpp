// SPDX-License-Identifier: MIT
#pragma once
#include "triage/checkpoint_store.hpp"

#include <vector>

namespace triage::inline v0_1::supervise {

// All records of a run. None if the store has never taken the run, which goes on without it until
// then. Errors: the store's, but not Errc::not_found.
[[nodiscard]] Result<std::vector<Record>> stored_records(CheckpointStore& store, const RunId& run);

}  // namespace triage::inline v0_1::supervise
