// SPDX-License-Identifier: MIT
#pragma once
// What a damaged journal has lost, and setting that aside so that the rest is used knowingly.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// Sequences of which nothing is there, and which no gap explains; ascending.
[[nodiscard]] std::vector<SequenceRange> missing_records(const JournalReading& reading);

// Consecutive records that cannot be used.
struct LostRecords {
  Sequence first = 0;
  Sequence last = 0;                 // Inclusive.
  std::optional<RecordKind> kind{};  // Of one that is damaged, if it can still be told.
  std::string why{};
  bool set_aside = false;  // By a repair.
};
// All of them, ascending.
[[nodiscard]] std::vector<LostRecords> lost_records(const JournalReading& reading);

struct Repaired {
  std::vector<LostRecords>
      lost{};             // Those that were set aside now; empty: there was nothing to do.
  CheckpointId newest{};  // The newest position that can be restored.
  // An intent may be among what was ever lost: an effect that the journal does not know may have
  // happened, and is in doubt.
  bool effects_in_doubt = false;
};

// Appends one record that names what is lost. What is damaged stays where it is, for whoever wants
// to look at its bytes, and is never used; all other records stay, later effects among them; and
// what was lost stays lost: a missing intent never reads as an effect that did not happen.
// clock: null: the machine's.
// Errors: Errc::not_found; Errc::busy (a living owner is at work on it); Errc::corrupt if the run's
// first record is lost, without which nothing can be used; the store's.
[[nodiscard]] Result<Repaired> repair_run(CheckpointStore& store, const RunId& run,
                                          const std::shared_ptr<Clock>& clock = {});

}  // namespace triage::inline v0_1
