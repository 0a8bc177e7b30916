// SPDX-License-Identifier: MIT
#include "triage/detail/effect_ledger.hpp"

#include "triage/checkpoint_store.hpp"
#include "triage/detail/stored_field.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

using Status = EffectState::Status;

// Whether a record that fails its checksum may have been an intent, assuming that at most one bit
// of its stored kind is wrong.
bool may_have_been_an_intent(const std::optional<RecordKind>& kind) {
  if (!kind) return true;
  for (const RecordKind intent : {RecordKind::effect_intended, RecordKind::compensation_intended}) {
    const auto flipped = static_cast<unsigned>(*kind) ^ static_cast<unsigned>(intent);
    if (std::popcount(flipped) <= 1) return true;
  }
  return false;
}

// Both the intent and the result carry these fields, so that either may be lost.
void describe(EffectState& effect, const Json& body) {
  effect.arguments = text_field(body, "arguments");
  effect.semantics =
      parse_effect_semantics(text_field(body, "semantics")).value_or(EffectSemantics::at_most_once);
  effect.reconciliation = text_field(body, "reconciliation");
  effect.idempotency_key = text_field(body, "idempotency_key");
  effect.compensation.reset();
  if (body.contains("compensation")) {
    effect.compensation = text_field(body, "compensation");
  }
}

}  // namespace

bool EffectLedger::apply(RecordKind kind, const Json& body, Sequence seq, Sequence inherited) {
  switch (kind) {
    case RecordKind::effect_intended:
    case RecordKind::effect_completed:
    case RecordKind::effect_withdrawn: break;
    case RecordKind::compensation_intended:
    case RecordKind::compensation_completed:
    case RecordKind::compensation_withdrawn: apply_compensation(kind, body, seq); return false;
    default: return false;
  }
  EffectState& effect = effects_[text_field(body, "key")];
  const auto generation = field<std::uint64_t>(body, "generation", 1);
  if (effect.status == Status::absent || effect.generation != generation) {
    effect = {.generation = generation, .intended_at = seq};
  } else if (effect.status == Status::withdrawn ||
             (kind == RecordKind::effect_intended && effect.intended_at <= inherited)) {
    effect.intended_at = seq;  // The branch ran it itself, so it is the branch's own.
  }
  effect.known_at = seq;
  effect.lost = false;
  if (kind == RecordKind::effect_withdrawn) {
    effect.status = Status::withdrawn;
    return false;
  }
  describe(effect, body);
  if (kind == RecordKind::effect_intended) {
    effect.status = Status::intended;
    return false;
  }
  const bool gets_on = effect.status != Status::completed;
  effect.status = Status::completed;
  effect.result = std::make_shared<const Json>(body.contains("result") ? body["result"] : Json());
  return gets_on;
}

void EffectLedger::apply_compensation(RecordKind kind, const Json& body, Sequence seq) {
  EffectState& effect = effects_[text_field(body, "key")];
  effect.generation = field<std::uint64_t>(body, "generation", effect.generation);
  effect.known_at = seq;
  effect.lost = false;
  if (body.contains("idempotency_key")) {
    effect.compensation_key = text_field(body, "idempotency_key");
  }
  effect.intended_at = std::max<Sequence>(effect.intended_at, 1);  // 0: its intent was lost.
  if (kind == RecordKind::compensation_withdrawn) {
    effect.status = Status::completed;
    undone_.erase(effect.intended_at);
    return;
  }
  effect.status =
      kind == RecordKind::compensation_intended ? Status::compensating : Status::compensated;
  undone_.emplace(effect.intended_at, seq);  // A doubt that is settled was undone before.
}

void EffectLedger::doubt(std::string_view key, Sequence seq) {
  const auto found = effects_.find(key);
  if (found == effects_.end()) return;
  EffectState& effect = found->second;
  // A compensation was begun, so the effect has happened, even if its result could not be stored.
  const bool undoing = !effect.compensation_key.empty() || effect.status == Status::compensating ||
                       effect.status == Status::compensated;
  effect.status = undoing ? Status::compensating : Status::intended;
  if (undoing) undone_.emplace(effect.intended_at, seq);
}

// --- What damage may have destroyed.

void EffectLedger::note_lost_intent(Sequence seq) noexcept {
  lost_intent_ = std::max(lost_intent_, seq);
}

void EffectLedger::note_lost_records(const JournalReading& reading) {
  std::set<Sequence> accounted;
  for (const DamagedRecord& damaged : reading.damaged) {
    accounted.insert(damaged.seq);
    if (may_have_been_an_intent(damaged.kind)) note_lost_intent(damaged.seq);
  }
  // Missing records that no gap explains.
  Sequence expected = 1;
  const auto missing_before = [&](Sequence seq) {
    for (; expected < seq; ++expected) {
      if (accounted.contains(expected)) continue;
      note_lost_intent(seq - 1);
      break;
    }
    expected = seq + 1;
  };
  auto superseded = reading.superseded.begin();
  for (const Record& record : reading.records) {
    for (; superseded != reading.superseded.end() && superseded->first < record.seq();
         ++superseded) {
      missing_before(superseded->first);
      expected = superseded->last + 1;
    }
    Sequence first = record.seq();
    if (record.kind() == RecordKind::gap) {
      const Result<Json> body = record.body();
      if (body && body.value().is_object()) first = field(body.value(), "first", first);
    }
    missing_before(first);
    expected = record.seq() + 1;
  }
  missing_before(reading.info.last + 1);
  // A lost record may have changed what was known before it.
  for (auto& [key, effect] : effects_) {
    if (effect.known_at > lost_intent_) continue;
    const bool was_free =
        effect.status == Status::withdrawn || effect.status == Status::compensated;
    if (effect.status == Status::compensated) {
      ++effect.generation;
      effect.idempotency_key.clear();
    }
    if (was_free) {
      effect.status = Status::intended;
      effect.lost = true;
    } else if (effect.status == Status::completed && effect.compensation) {
      effect.status = Status::compensating;
      effect.lost = true;
    }
  }
}

// --- Reading.

EffectState EffectLedger::find(std::string_view key) const {
  if (const auto found = effects_.find(key); found != effects_.end()) return found->second;
  if (lost_intent_ == 0) return {};
  return {.status = Status::intended,
          .intended_at = lost_intent_,
          .known_at = lost_intent_,
          .lost = true};
}

}  // namespace triage::inline v0_1::detail
