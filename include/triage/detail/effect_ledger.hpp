// SPDX-License-Identifier: MIT
#pragma once
// A journal's part about effects and their compensations. No rollback rewinds it.

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

// One effect, as the whole journal knows it: a rollback does not rewind effects.
struct EffectState {
  enum class Status : std::uint8_t {
    absent,        // Never intended.
    intended,      // In doubt, unless it runs now.
    completed,     // Done, and in place.
    withdrawn,     // Not carried out.
    compensating,  // Undone or not: in doubt, unless its compensation runs now.
    compensated,   // Undone: the key is free for the next generation.
  };
  Status status = Status::absent;
  std::uint64_t generation = 1;
  std::shared_ptr<const Json> result{};  // From `completed` on.
  EffectSemantics semantics = EffectSemantics::at_most_once;
  std::string arguments{};                    // Their hash; empty if there are none.
  std::optional<std::string> compensation{};  // Its name; empty text: a function without one.
  std::string reconciliation{};               // Its name, if it has one.
  // When this generation was first intended since its key was last free; in a branch, since the
  // branch itself carried it out.
  Sequence intended_at = 0;
  Sequence known_at = 0;  // Of the newest record about it.
  bool lost = false;      // In doubt because a record that may have been about it cannot be read.
  // Under which the outside world knows this generation. Empty: it is made of the run's own id, as
  // journals from before it was recorded take it to be.
  std::string idempotency_key{};
  std::string compensation_key{};  // The same of its compensation, once that was begun.
};

namespace detail {

// Thread-safety: none; its owner locks.
class EffectLedger {
 public:
  // Applies the record `seq`, if its kind is about effects. `inherited` is the position that a
  // branch begins with, 0 in other runs. True if an effect was completed: the run gets on.
  bool apply(RecordKind kind, const Json& body, Sequence seq, Sequence inherited);
  // An effect, or its compensation, whose end could not be stored: nobody knows after a crash
  // whether it happened. `seq` is the newest record.
  void doubt(std::string_view key, Sequence seq);
  // A record that cannot be read may have been an intent.
  void note_lost_intent(Sequence seq) noexcept;
  // The same for all that is damaged or missing in what a store read. Last, after all records.
  void note_lost_records(const JournalReading& reading);

  [[nodiscard]] const std::map<std::string, EffectState, std::less<>>& all() const noexcept {
    return effects_;
  }
  // One that is not known is `intended` if its record may be among those that are lost.
  [[nodiscard]] EffectState find(std::string_view key) const;
  // The newest record that is damaged or missing and may have been an intent; 0: there is none.
  [[nodiscard]] Sequence lost_intent() const noexcept { return lost_intent_; }
  // When each effect was undone, or may have been, by its intent.
  [[nodiscard]] const std::map<Sequence, Sequence>& undone() const noexcept { return undone_; }

 private:
  void apply_compensation(RecordKind kind, const Json& body, Sequence seq);

  std::map<std::string, EffectState, std::less<>> effects_{};
  std::map<Sequence, Sequence> undone_{};
  Sequence lost_intent_ = 0;
};

}  // namespace detail
}  // namespace triage::inline v0_1
