// SPDX-License-Identifier: MIT
#pragma once
// How much a store holds, and which of its runs may go.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace triage::inline v0_1 {

struct StoreSize {
  std::uint64_t runs = 0;
  std::uint64_t records = 0;  // Intact ones.
  std::uint64_t bytes = 0;    // Of their bodies, without the store's overhead.
};
// Reads everything. Errors: those of the store.
[[nodiscard]] Result<StoreSize> size_of(CheckpointStore& store);

// Which runs may be removed: those that any rule selects; none without rules.
struct RetentionRule {
  std::optional<WallTime> keep_since{};      // Runs updated earlier may be removed.
  std::optional<std::size_t> keep_newest{};  // At most this many runs per agent stay.
  // The newest runs stay while their records' bodies fit in this. Reads every run.
  std::optional<std::uint64_t> keep_bytes{};
  bool keep_labelled = true;  // Runs with a label stay.
  bool only_ended = true;     // Never touch running or suspended runs.
};

// The removable runs, newest first. Excludes runs with a living owner, and runs whose parent is
// running or suspended, which may ask for their result again. A branch does not need the run it was
// forked from: it has a copy. Also excludes damaged runs that run() cannot read at all.
[[nodiscard]] Result<std::vector<RunInfo>> prunable(CheckpointStore& store,
                                                    const RetentionRule& rule);
// Removes them and returns how many. A run that was resumed meanwhile stays.
[[nodiscard]] Result<std::size_t> prune(CheckpointStore& store, const RetentionRule& rule);

}  // namespace triage::inline v0_1
