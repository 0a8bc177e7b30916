// SPDX-License-Identifier: MIT
#pragma once
// Retention within a run: which checkpoints stay, and which of its state changes are removed with
// the others.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace triage::inline v0_1 {

// Implemented by stores that can replace many records by few.
class CompactsRuns {
 public:
  virtual ~CompactsRuns() = default;
  // Atomically removes the records in these ranges, ascending and disjoint, and adds `instead`,
  // whose sequences lie within them. Thread-safety: that of the store. Errors: Errc::fenced, as in
  // append(); Errc::invalid_argument for a sequence outside the ranges.
  [[nodiscard]] virtual Result<void> replace(const Lease& lease,
                                             std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead) = 0;
};

// For stores: checks that each record lies in a range. Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_replacement(std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead);

struct CompactionRule {
  // The number of newest checkpoints kept per branch. 1 or more.
  std::size_t max_checkpoints = 100;
  std::optional<WallTime> keep_since{};  // Checkpoints since then also stay.
};
// Also kept: labelled checkpoints (except with the library's own labels, "triage/…"), those the run
// went back to, those a branch begins with, and the newest position.

struct Compaction {
  std::size_t checkpoints_before = 0;
  std::size_t checkpoints = 0;
  std::size_t records_before = 0;
  std::size_t records = 0;
  std::uint64_t bytes_before = 0;  // Of the records' bodies.
  std::uint64_t bytes = 0;
};

// Merges the state changes between the checkpoints that stay: many changes of a key become one. All
// steps, effects, failures and decisions stay, and the remaining checkpoints keep their ids. Before
// anything is written, the result is folded and compared with the original. Removed checkpoints can
// no longer be restored, listed or branched from (Errc::not_found). Errors: Errc::unsupported (the
// store is not a CompactsRuns; memory and SQLite are); Errc::invalid_argument; Errc::corrupt (a
// record is damaged or missing: see repair_run); Errc::conflict (the count of its process's deaths
// would change; possible again once it makes progress); Errc::not_found, Errc::busy; the store's.
[[nodiscard]] Result<Compaction> compact_run(CheckpointStore& store, const RunId& run,
                                             const CompactionRule& rule);
// For a caller that holds the run's lease and appends nothing meanwhile.
[[nodiscard]] Result<Compaction> compact_held_run(CheckpointStore& store, const Lease& lease,
                                                  const CompactionRule& rule);

}  // namespace triage::inline v0_1
