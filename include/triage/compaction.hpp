// SPDX-License-Identifier: MIT
#pragma once
// Retention within a run: removes checkpoints, and merges the state changes between those that
// stay.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace triage::inline v0_1 {

// Which checkpoints of a run are kept. Kept in any case: labelled ones (except with the library's
// own labels, "triage/…"), those the run went back to, those a branch begins with, and the newest
// position.
struct CompactionRule {
  // The number of newest checkpoints kept per branch. 1 or more.
  std::size_t max_checkpoints = 100;
  std::optional<WallTime> keep_since{};  // Checkpoints made since then are kept as well.
  // Keeps fewer than max_checkpoints if the bodies of the run's records would otherwise take more
  // bytes than this, but at least one per branch. 0: no limit.
  std::uint64_t max_bytes = 0;
  // Leaves a run as it is if it would not take less space. The command sets it.
  bool only_smaller = false;
};

struct Compaction {
  std::size_t checkpoints_before = 0;
  std::size_t checkpoints = 0;
  std::size_t records_before = 0;
  std::size_t records = 0;
  std::uint64_t bytes_before = 0;  // Of the records' bodies.
  std::uint64_t bytes = 0;
};

// Removes the checkpoints that the rule does not keep, and merges the state changes between those
// that it keeps: many changes of one key become one. Steps, effects, failures and decisions stay.
// Kept checkpoints keep their ids; a removed one can no longer be restored, listed or branched from
// (Errc::not_found). The result is folded and compared with what was there before anything is
// written. Errors:
// - Errc::unsupported: the store is no CompactsRuns, as a decorator that redacts; or the run is
//   encrypted, and this is the store beneath its EncryptedStore.
// - Errc::corrupt: a record is damaged or missing: see repair_run().
// - Errc::conflict: what is counted between two deaths of the run's process would change. Possible
//   again once the run has made progress.
// - Errc::invalid_argument, Errc::not_found, Errc::busy; the store's.
[[nodiscard]] Result<Compaction> compact_run(CheckpointStore& store, const RunId& run,
                                             const CompactionRule& rule);
// For a caller that holds the run's lease and appends nothing meanwhile.
[[nodiscard]] Result<Compaction> compact_held_run(CheckpointStore& store, const Lease& lease,
                                                  const CompactionRule& rule);

// --- For stores.

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
  // True where a call costs what the whole run is long: then it is better called once.
  [[nodiscard]] virtual bool writes_whole_runs() const noexcept { return false; }
};

// With ranges as replace() is given them: whether one contains the sequence, and
// whether each record lies in one. Errors: Errc::invalid_argument.
[[nodiscard]] bool in_one_of(std::span<const SequenceRange> ranges, Sequence seq) noexcept;
[[nodiscard]] Result<void> check_replacement(std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead);

namespace detail {

// A decorator that compacts while it forwards. It reads bodies, so it goes around what encrypts
// them.
class CompactsInPassing {
 public:
  virtual ~CompactsInPassing() = default;
};

}  // namespace detail

}  // namespace triage::inline v0_1
