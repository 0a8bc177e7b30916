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
  // True where a call costs what the whole run is long: then it is better called once.
  [[nodiscard]] virtual bool writes_whole_runs() const noexcept { return false; }
};

namespace detail {

// A decorator that compacts while it forwards. It reads bodies, so it goes around what encrypts
// them.
class CompactsInPassing {
 public:
  virtual ~CompactsInPassing() = default;
};

}  // namespace detail

// For stores, with ranges as replace() is given them: whether one contains the sequence, and
// whether each record lies in one. Errors: Errc::invalid_argument.
[[nodiscard]] bool in_one_of(std::span<const SequenceRange> ranges, Sequence seq) noexcept;
[[nodiscard]] Result<void> check_replacement(std::span<const SequenceRange> ranges,
                                             std::span<const Record> instead);

struct CompactionRule {
  // The number of newest checkpoints kept per branch. 1 or more.
  std::size_t max_checkpoints = 100;
  std::optional<WallTime> keep_since{};  // Those since then stay besides.
  // Fewer than max_checkpoints stay where the run's bodies would take more bytes than this; one of
  // each branch always does. 0: no limit.
  std::uint64_t max_bytes = 0;
  // A run that would take no less room keeps all its checkpoints. The command sets it.
  bool only_smaller = false;
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

// Takes the state changes between the checkpoints that stay together: many changes of one key
// become one. Steps, effects, failures and decisions all stay, and so do the checkpoints that stay,
// with the same ids. The result is folded and compared with what was there before anything is
// changed. The others can no longer be restored, listed or branched from (Errc::not_found).
// Errors: Errc::unsupported (the store is no CompactsRuns, as a decorator that redacts; the run is
// encrypted, and this is the store beneath its EncryptedStore);
// Errc::invalid_argument; Errc::corrupt (a record is damaged or missing: see repair_run);
// Errc::conflict (what is counted between two deaths of its process would change: when it has got
// on, it can be done); Errc::not_found, Errc::busy; the store's.
[[nodiscard]] Result<Compaction> compact_run(CheckpointStore& store, const RunId& run,
                                             const CompactionRule& rule);
// For a caller that holds the run's lease and appends nothing meanwhile.
[[nodiscard]] Result<Compaction> compact_held_run(CheckpointStore& store, const Lease& lease,
                                                  const CompactionRule& rule);

}  // namespace triage::inline v0_1
