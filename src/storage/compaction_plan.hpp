// SPDX-License-Identifier: MIT
#pragma once
// Decides which records of a run are removed, and which few replace them.

#include "triage/checkpoint_store.hpp"

#include <set>
#include <vector>

namespace triage::inline v0_1::detail {

struct CompactionPlan {
  std::vector<SequenceRange> ranges{};  // Removed; ascending and disjoint.
  std::vector<Record> instead{};        // Added; ascending.
};

// Positions to which the run went back, or with which a branch began. They stay.
[[nodiscard]] std::set<Sequence> returned_to(const JournalReading& reading);

// stay: the positions whose states are still needed, besides the end of the journal.
[[nodiscard]] CompactionPlan plan_compaction(const JournalReading& reading,
                                             const std::set<Sequence>& stay);

}  // namespace triage::inline v0_1::detail
