// SPDX-License-Identifier: MIT
#pragma once
// Claims one orphaned run by its id; see triage/orphans.hpp.

#include "triage/checkpoint_store.hpp"

#include <optional>

namespace triage::inline v0_1::detail {

// Null if another process has it or it ended in between. Errors: the store's.
[[nodiscard]] Result<std::optional<Lease>> claim_orphan(CheckpointStore& store, const RunId& run);

}  // namespace triage::inline v0_1::detail
