// SPDX-License-Identifier: MIT
#pragma once
// Finds what a damaged journal has lost, and sets it aside so that the rest can be used knowingly.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// Missing sequences that no gap explains; ascending.
[[nodiscard]] std::vector<SequenceRange> missing_records(const JournalReading& reading);

// Consecutive unusable records.
struct LostRecords {
  Sequence first = 0;
  Sequence last = 0;                 // Inclusive.
  std::optional<RecordKind> kind{};  // Of a damaged record, if still known.
  std::string why{};
  bool set_aside = false;  // By a repair.
};
// All of them, ascending.
[[nodiscard]] std::vector<LostRecords> lost_records(const JournalReading& reading);

struct Repaired {
  std::vector<LostRecords> lost{};  // Set aside now; empty: nothing to do.
  CheckpointId newest{};            // The newest restorable position.
  // What was ever lost may include an intent: an effect that the journal does not know may have
  // happened, and is in doubt.
  bool effects_in_doubt = false;
};

// Appends one record that names what is lost. Damaged records stay in place for inspection but are
// never used; all others stay, including later effects. What was lost stays lost: a missing intent
// never counts as an effect that did not happen. clock: null: the machine's. Errors:
// Errc::not_found; Errc::busy (a living owner is working on it); Errc::corrupt if the run's first
// record is lost, without which nothing is usable; Errc::unsupported if the run is encrypted, and
// this is the store beneath its EncryptedStore; the store's.
[[nodiscard]] Result<Repaired> repair_run(CheckpointStore& store, const RunId& run,
                                          const std::shared_ptr<Clock>& clock = {});

// Implemented by stores that can set aside what is damaged beside their runs.
class RepairsItself {
 public:
  virtual ~RepairsItself() = default;
  // See repair_store(). Thread-safety: that of the store.
  [[nodiscard]] virtual Result<std::vector<std::string>> repair() = 0;
};

// Sets aside what is damaged of the store itself, such as keys: it is never used, and what was
// there before counts. Returns what it has set aside, a sentence each; nothing for a store that is
// not a RepairsItself. Errors: the store's.
[[nodiscard]] Result<std::vector<std::string>> repair_store(CheckpointStore& store);

}  // namespace triage::inline v0_1
