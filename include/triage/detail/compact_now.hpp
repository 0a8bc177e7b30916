// SPDX-License-Identifier: MIT
#pragma once
// For callables that keep the journal of their run short while it grows.

#include "triage/attempt.hpp"
#include "triage/compaction.hpp"

#include <span>

namespace triage::inline v0_1::detail {

// compact_held_run() of the attempt's own run, between two appends; what was recorded so far is
// stored first. A rollback to a position that is gone still works in this process, which knows its
// state. Errors: those of compact_held_run(); Errc::unsupported without a store.
[[nodiscard]] Result<Compaction> compact_now(Attempt& attempt, const CompactionRule& rule);
// Takes the labels of these checkpoints of the attempt's own run out of its journal, so that they
// can no longer be restored or listed. Nothing is read, and the state's changes stay. No run may
// have returned to one of them. Errors: those of CompactsRuns::replace(); Errc::unsupported without
// a store that is one.
[[nodiscard]] Result<void> forget_checkpoints(Attempt& attempt,
                                              std::span<const CheckpointInfo> labelled);

}  // namespace triage::inline v0_1::detail
