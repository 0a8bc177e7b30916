// SPDX-License-Identifier: MIT
// Folding effects and their compensations: over the whole journal, since no rollback rewinds them.
#include "journal/record_body.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace triage::inline v0_1 {

using detail::field;

namespace {

using Status = EffectState::Status;

// Whether a record that fails its checksum may have been an intent: by its stored kind, of which at
// most one bit is taken to be wrong.
bool may_have_been_an_intent(const std::optional<RecordKind>& kind) {
  if (!kind) return true;
  for (const RecordKind intent : {RecordKind::effect_intended, RecordKind::compensation_intended}) {
    const auto flipped = static_cast<unsigned>(*kind) ^ static_cast<unsigned>(intent);
    if (std::popcount(flipped) <= 1) return true;
  }
  return false;
}

// Both the intent and the result say it, so that one of them may be lost.
void describe(EffectState& effect, const Json& body) {
  effect.arguments = field<std::string>(body, "arguments", {});
  effect.semantics = parse_effect_semantics(field<std::string>(body, "semantics", {}))
                         .value_or(EffectSemantics::at_most_once);
  effect.reconciliation = field<std::string>(body, "reconciliation", {});
  effect.idempotency_key = field<std::string>(body, "idempotency_key", {});
  effect.compensation.reset();
  if (body.contains("compensation")) {
    effect.compensation = field<std::string>(body, "compensation", {});
  }
}

}  // namespace

void Journal::apply_effect(RecordKind kind, const Json& body) {
  switch (kind) {
    case RecordKind::effect_intended:
    case RecordKind::effect_completed:
    case RecordKind::effect_withdrawn: break;
    case RecordKind::compensation_intended:
    case RecordKind::compensation_completed:
    case RecordKind::compensation_withdrawn: return apply_compensation(kind, body);
    default: return;
  }
  EffectState& effect = effects_[field<std::string>(body, "key", {})];
  const auto generation = field<std::uint64_t>(body, "generation", 1);
  if (effect.status == Status::absent || effect.generation != generation) {
    effect = {.generation = generation, .intended_at = last_};
  } else if (effect.status == Status::withdrawn ||
             (kind == RecordKind::effect_intended && effect.intended_at <= start_sequence())) {
    effect.intended_at = last_;  // What a branch carries out itself is its own.
  }
  effect.known_at = last_;
  effect.lost = false;
  if (kind == RecordKind::effect_withdrawn) {
    effect.status = Status::withdrawn;
    return;
  }
  describe(effect, body);
  if (kind == RecordKind::effect_intended) {
    effect.status = Status::intended;
    return;
  }
  if (effect.status != Status::completed) crashes_ = 0;  // The run gets on.
  effect.status = Status::completed;
  effect.result = std::make_shared<const Json>(body.contains("result") ? body["result"] : Json());
}

void Journal::apply_compensation(RecordKind kind, const Json& body) {
  EffectState& effect = effects_[field<std::string>(body, "key", {})];
  effect.generation = field<std::uint64_t>(body, "generation", effect.generation);
  effect.known_at = last_;
  effect.lost = false;
  if (body.contains("idempotency_key")) {
    effect.compensation_key = field<std::string>(body, "idempotency_key", {});
  }
  effect.intended_at = std::max<Sequence>(effect.intended_at, 1);  // 0: its intent was lost.
  if (kind == RecordKind::compensation_withdrawn) {
    effect.status = Status::completed;
    undone_.erase(effect.intended_at);
    return;
  }
  effect.status =
      kind == RecordKind::compensation_intended ? Status::compensating : Status::compensated;
  undone_.emplace(effect.intended_at, last_);  // A doubt that is settled was undone before.
}

void Journal::doubt_effect(std::string_view key) {
  const auto found = effects_.find(key);
  if (found == effects_.end()) return;
  EffectState& effect = found->second;
  // If a compensation was begun, the effect itself has happened, whatever else could not be stored.
  const bool undoing = !effect.compensation_key.empty() || effect.status == Status::compensating ||
                       effect.status == Status::compensated;
  effect.status = undoing ? Status::compensating : Status::intended;
  if (undoing) undone_.emplace(effect.intended_at, last_);
}

// --- What damage may have taken.

void Journal::note_lost_intent(Sequence seq) { lost_intent_ = std::max(lost_intent_, seq); }

void Journal::note_lost_records(const JournalReading& reading) {
  std::set<Sequence> accounted;
  for (const DamagedRecord& damaged : reading.damaged) {
    accounted.insert(damaged.seq);
    if (may_have_been_an_intent(damaged.kind)) note_lost_intent(damaged.seq);
  }
  // Records that are not even there, and that no gap explains.
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
  // What was known before may have changed in a record that is lost.
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

EffectState Journal::effect(std::string_view key) const {
  if (const auto found = effects_.find(key); found != effects_.end()) return found->second;
  if (lost_intent_ == 0) return {};
  return {.status = Status::intended,
          .intended_at = lost_intent_,
          .known_at = lost_intent_,
          .lost = true};
}

// What was recorded between an effect and its undoing claims it, by whatever way the run came
// there: every attempt is given the recorded result. Behind the undoing, going back to before the
// effect takes the claim away.
bool Journal::claims_undone(Sequence seq, std::int32_t newest_cut) const {
  const Sequence begin = start_sequence();  // What a branch inherited is its origin's to undo.
  const auto claimed = [&](const auto& undone) {
    const auto [intent, at] = undone;
    for (std::int32_t i = newest_cut; i >= 0; i = cuts_[static_cast<std::size_t>(i)].before) {
      const Cut& cut = cuts_[static_cast<std::size_t>(i)];
      if (cut.to < intent && at <= cut.at) return false;
    }
    return true;
  };
  return std::any_of(undone_.upper_bound(begin), undone_.upper_bound(seq), claimed);
}

bool Journal::claims_undone(std::size_t position) const {
  return claims_undone(positions_[position].seq, positions_[position].cut);
}

std::optional<Sequence> Journal::before_undone() const {
  if (!claims_undone(last_, cut_)) return std::nullopt;
  for (std::size_t i = branch_.size(); i-- > 0;) {
    if (!claims_undone(branch_[i])) return positions_[branch_[i]].seq;
  }
  return 0;
}

}  // namespace triage::inline v0_1
