// SPDX-License-Identifier: MIT
#pragma once
// Which runs an export has, and what they have lost.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace triage::inline v0_1::detail {

// Each of `asked` once; without any, all runs, origins before their branches. Errors: the store's.
[[nodiscard]] Result<std::vector<RunId>> runs_to_export(CheckpointStore& from,
                                                        std::span<const RunId> asked);

// How many records are damaged or missing and were not set aside by a repair; a damaged row of the
// run counts as one.
[[nodiscard]] std::size_t damage_of(const JournalReading& reading);

// Why the run is not exported.
[[nodiscard]] Error is_damaged(const RunId& run, std::size_t damage);

}  // namespace triage::inline v0_1::detail
