// SPDX-License-Identifier: MIT
#pragma once
// Retention inside a run: which of its checkpoints stay, and what of its state changes goes with
// the others.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace triage::inline v0_1 {

// What a store implements that can put fewer records in the place of many.
class CompactsRuns {
 public:
  virtual ~CompactsRuns() = default;
  // Removes the records in these ranges, ascending and apart, and appends `instead`, whose
  // sequences lie in them: all of it, or nothing. Thread-safety: that of the store.
  // Errors: Errc::fenced, as append(); Errc::invalid_argument for a sequence outside the ranges.
  [[nodiscard]] virtual Result<void> replace(const Lease& lease,
                                             std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead) = 0;
};

// For stores: that each record lies in a range. Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_replacement(std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead);

struct CompactionRule {
  // At most so many checkpoints of each branch stay, the newest. 1 or more.
  std::size_t max_checkpoints = 100;
  std::optional<WallTime> keep_since{};  // Those since then stay besides.
};
// A checkpoint stays besides if it has a label (but for labels of the library's, "triage/…"), if
// the run went back to it, or if a branch begins with it; so does the newest position.

struct Compaction {
  std::size_t checkpoints_before = 0;
  std::size_t checkpoints = 0;
  std::size_t records_before = 0;
  std::size_t records = 0;
  std::uint64_t bytes_before = 0;  // Of the records' bodies.
  std::uint64_t bytes = 0;
};

// Takes the state changes between the checkpoints that stay together: many changes of one key
// become one. Steps, effects, failures and decisions all stay, and so do the checkpoints that stay,
// with the same ids. The result is folded and compared with what was there before anything is
// changed. The others can no longer be restored, listed or branched from (Errc::not_found).
// Errors: Errc::unsupported (the store is no CompactsRuns: memory and SQLite are);
// Errc::invalid_argument; Errc::corrupt (a record is damaged or missing: see repair_run);
// Errc::conflict (what is counted between two deaths of its process would change: when it has got
// on, it can be done); Errc::not_found, Errc::busy; the store's.
[[nodiscard]] Result<Compaction> compact_run(CheckpointStore& store, const RunId& run,
                                             const CompactionRule& rule);
// For whoever has the run's lease already, and appends nothing meanwhile.
[[nodiscard]] Result<Compaction> compact_held_run(CheckpointStore& store, const Lease& lease,
                                                  const CompactionRule& rule);

}  // namespace triage::inline v0_1
