// SPDX-License-Identifier: MIT
#pragma once
// For callables that keep the journal of their run short while it grows.

#include "triage/attempt.hpp"
#include "triage/compaction.hpp"

namespace triage::inline v0_1::detail {

// compact_held_run() of the attempt's own run, between two appends; what was recorded so far is
// stored first. A rollback to a position that is gone still works in this process, which knows its
// state. Errors: those of compact_held_run(); Errc::unsupported without a store.
[[nodiscard]] Result<Compaction> compact_now(Attempt& attempt, const CompactionRule& rule);

}  // namespace triage::inline v0_1::detail
