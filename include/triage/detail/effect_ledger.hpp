// SPDX-License-Identifier: MIT
#pragma once
// The part of a journal about effects and their compensations. Rollbacks do not rewind it.

#include "triage/effect.hpp"
#include "triage/json.hpp"
#include "triage/record.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct JournalReading;  // checkpoint_store.hpp

// An effect according to the whole journal: rollbacks do not rewind effects.
struct EffectState {
  enum class Status : std::uint8_t {
    absent,        // Never intended.
    intended,      // In doubt, unless it is running.
    completed,     // Happened and still in place.
    withdrawn,     // Did not happen.
    compensating,  // In doubt whether it is undone, unless its compensation is running.
    compensated,   // Undone: the key is free for the next generation.
  };
  Status status = Status::absent;
  std::uint64_t generation = 1;
  std::shared_ptr<const Json> result{};  // From `completed` on.
  EffectSemantics semantics = EffectSemantics::at_most_once;
  std::string arguments{};                    // Their hash; empty if there are none.
  std::optional<std::string> compensation{};  // Its name; an empty text: an unnamed function.
  std::string reconciliation{};               // Its name, if any.
  // When this generation was first intended since its key was last free; in a branch, since the
  // branch itself carried it out.
  Sequence intended_at = 0;
  Sequence known_at = 0;  // The newest record about it.
  bool lost = false;      // In doubt because a record that may concern it is unreadable.
  // The key by which the outside world knows this generation. Empty, as in old journals: derived
  // from the run's own id.
  std::string idempotency_key{};
  std::string compensation_key{};  // The same for its compensation, once begun.
};

namespace detail {

// Thread-safety: none; its owner locks.
class EffectLedger {
 public:
  // Applies the record `seq` if its kind concerns effects. `inherited` is the position a branch
  // begins with; 0 in other runs. True if an effect completed, which is progress.
  bool apply(RecordKind kind, const Json& body, Sequence seq, Sequence inherited);
  // The end of an effect or compensation could not be stored, so after a crash it is in doubt.
  // `seq` is the newest record.
  void doubt(std::string_view key, Sequence seq);
  // An unreadable record may have been an intent.
  void note_lost_intent(Sequence seq) noexcept;
  // The same for everything damaged or missing in a reading. Call it after all records.
  void note_lost_records(const JournalReading& reading);

  [[nodiscard]] const std::map<std::string, EffectState, std::less<>>& all() const noexcept {
    return effects_;
  }
  // An unknown effect is `intended` if its record may have been lost.
  [[nodiscard]] EffectState find(std::string_view key) const;
  // The newest damaged or missing record that may have been an intent; 0: none.
  [[nodiscard]] Sequence lost_intent() const noexcept { return lost_intent_; }
  // When each effect was (or may have been) undone, by its intent.
  [[nodiscard]] const std::map<Sequence, Sequence>& undone() const noexcept { return undone_; }

 private:
  void apply_compensation(RecordKind kind, const Json& body, Sequence seq);

  std::map<std::string, EffectState, std::less<>> effects_{};
  std::map<Sequence, Sequence> undone_{};
  Sequence lost_intent_ = 0;
};

}  // namespace detail
}  // namespace triage::inline v0_1
