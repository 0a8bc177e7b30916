// SPDX-License-Identifier: MIT
#pragma once
// What has finished in a run, as its store knows it.

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

// In the order of (superstep, executor, occurrence). Executors that the workflow lacks are left
// out. Errors: Errc::not_found; Errc::corrupt; the store's.
[[nodiscard]] Result<std::vector<StoredFinished>> stored_deliveries(CheckpointStore& store,
                                                                    const RunId& run,
                                                                    const Workflow& workflow);
[[nodiscard]] DeliveryView view_of(const Workflow& workflow, const StoredFinished& stored);
// The values of all scopes, by scope and key. Reducers are called. Errors: Errc::conflict.
[[nodiscard]] Result<Json> state_after(const Workflow& workflow,
                                       const std::vector<StoredFinished>& stored);

}  // namespace triage::inline v0_1::workflow::detail
