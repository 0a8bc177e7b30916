// SPDX-License-Identifier: MIT
#pragma once
// Which records of a run go, and which few stand for them.

#include "triage/checkpoint_store.hpp"

#include <set>
#include <vector>

namespace triage::inline v0_1::detail {

struct CompactionPlan {
  std::vector<SequenceRange> ranges{};  // Go; ascending and apart.
  std::vector<Record> instead{};        // Come; ascending.
};

// stay: the positions whose states are still needed; the end of the journal is, too.
[[nodiscard]] CompactionPlan plan_compaction(const JournalReading& reading,
                                             const std::set<Sequence>& stay);

}  // namespace triage::inline v0_1::detail
