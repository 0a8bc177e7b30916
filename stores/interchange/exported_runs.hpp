// SPDX-License-Identifier: MIT
#pragma once
// Which runs an export has, and what they have lost.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace triage::inline v0_1::detail {

// Each of `asked` once; without any, all runs, origins before their branches. Errors: the store's.
// Of one that is asked for only the id is known.
[[nodiscard]] Result<std::vector<RunInfo>> runs_to_export(CheckpointStore& from,
                                                          std::span<const RunId> asked);

// Why a run could not be read that is listed as damaged, for example because its id is; nullopt:
// the error is not that run's.
[[nodiscard]] std::optional<Error> why_unreadable(const RunInfo& listed, const Error& error);

// How many records are damaged or missing and were not set aside by a repair; a damaged row of the
// run counts as one.
[[nodiscard]] std::size_t damage_of(const JournalReading& reading);

// Why the run is not exported.
[[nodiscard]] Error is_damaged(const RunId& run, std::size_t damage);

}  // namespace triage::inline v0_1::detail
