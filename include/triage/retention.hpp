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
  std::uint64_t records = 0;  // The intact ones.
  std::uint64_t bytes = 0;    // Of their bodies, without what the store puts around them.
};
// Reads everything. Errors: those of the store.
[[nodiscard]] Result<StoreSize> size_of(CheckpointStore& store);

// Which runs may go. What any rule removes goes; without a rule nothing does.
struct RetentionRule {
  std::optional<WallTime> keep_since{};      // Runs updated before may go.
  std::optional<std::size_t> keep_newest{};  // At most this many runs of an agent stay.
  // The newest runs stay as long as their records' bodies take no more. Reads every run.
  std::optional<std::uint64_t> keep_bytes{};
  bool keep_labelled = true;  // Runs with a label stay.
  bool only_ended = true;     // Never touch running or suspended runs.
};

// The runs that may go, newest first. Never one that a living owner holds; nor one whose parent is
// running or suspended, since that may ask for its result again. A branch needs nothing of the run
// that it was forked from: it holds a copy.
[[nodiscard]] Result<std::vector<RunInfo>> prunable(CheckpointStore& store,
                                                    const RetentionRule& rule);
// Removes them; returns how many went. A run that somebody has taken up meanwhile stays.
[[nodiscard]] Result<std::size_t> prune(CheckpointStore& store, const RetentionRule& rule);

}  // namespace triage::inline v0_1
