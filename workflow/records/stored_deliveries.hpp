// SPDX-License-Identifier: MIT
#pragma once
// The finished deliveries of a run, read from its store.

#include "finished.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"

#include <cstddef>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

struct StoredFinished {
  std::size_t node = 0;
  int occurrence = 0;
  Finished finished{};
};

// Ordered by (superstep, executor, occurrence). Omits executors that the workflow does not have.
// Errors: Errc::not_found; Errc::corrupt; the store's.
[[nodiscard]] Result<std::vector<StoredFinished>> stored_deliveries(CheckpointStore& store,
                                                                    const RunId& run,
                                                                    const Workflow& workflow);
[[nodiscard]] DeliveryView view_of(const Workflow& workflow, const StoredFinished& stored);
// The values of all scopes, by scope and key. Calls reducers. Errors: those of stored_deliveries;
// Errc::invalid_argument, of a reducer.
[[nodiscard]] Result<Json> stored_state(CheckpointStore& store, const RunId& run,
                                        const Workflow& workflow);

}  // namespace triage::inline v0_1::workflow::detail
