// SPDX-License-Identifier: MIT
// Folding records into a journal: what each kind means for state, trajectory, checkpoints and
// effects.
#include "triage/checkpoint_store.hpp"
#include "triage/detail/record_rules.hpp"
#include "triage/detail/step_chunk.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/journal.hpp"
#include "triage/repair.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

using detail::field;
using detail::find_field;
using detail::text_field;

namespace {

// The end of a run that its row calls finished, behind what is lost. Nothing goes on from it, but
// its result is known. Null if it may be an earlier end's: something behind it is lost, or the run
// has gone on.
Json end_behind_a_hole(const JournalReading& reading) {
  if (reading.info.status != RunStatus::finished || reading.info.damaged) return nullptr;
  const auto end =
      std::find_if(reading.records.rbegin(), reading.records.rend(), [](const Record& record) {
        return record.kind() == RecordKind::finished || record.kind() == RecordKind::resumed;
      });
  if (end == reading.records.rend() || end->kind() != RecordKind::finished) return nullptr;
  const std::vector<LostRecords> lost = lost_records(reading);
  const bool whole_behind = std::all_of(
      lost.begin(), lost.end(), [end](const LostRecords& one) { return one.last < end->seq(); });
  Result<Json> body = whole_behind ? end->body() : Result<Json>(Json());
  return body && body.value().is_object() ? std::move(body).value() : Json();
}

}  // namespace

Result<Journal> Journal::fold(const JournalReading& reading) {
  Journal journal(reading.info.id);
  journal.state_from_ = reading.state_from;
  auto superseded = reading.superseded.begin();
  for (const Record& record : reading.records) {
    for (; superseded != reading.superseded.end() && superseded->first < record.seq();
         ++superseded) {
      journal.apply_superseded(*superseded);
    }
    journal.apply(record);
  }
  if (!journal.started()) {
    return Error{Errc::corrupt, "the first record of run " + reading.info.id +
                                    " is damaged or missing, so nothing of it can be restored"};
  }
  if (reading.info.last > journal.last_) {  // The newest records themselves are damaged.
    if (!journal.broken_at_) journal.broken_at_ = journal.last_ + 1;
    journal.last_ = reading.info.last;
  }
  journal.effects_.note_lost_records(reading);
  if (journal.broken_at_ && journal.facts_.finished.is_null()) {
    journal.facts_.finished = end_behind_a_hole(reading);
  }
  return outcome::success(std::move(journal));
}

void Journal::apply(const Record& record) {
  const Sequence expected = last_ + 1;
  std::shared_ptr<const Json> body;
  if (record.kind() != RecordKind::step) {
    Result<Json> decoded = record.body();
    if (decoded && decoded.value().is_object()) {
      body = std::make_shared<const Json>(std::move(decoded).value());
    }
  }
  const bool readable = record.kind() == RecordKind::step || body != nullptr;
  const bool explained = readable && record.kind() == RecordKind::gap &&
                         field<Sequence>(*body, "first", 0) <= expected &&
                         field<Sequence>(*body, "last", 0) + 1 == record.seq();
  if (!broken_at_ && (!readable || (record.seq() != expected && !explained))) {
    broken_at_ = expected;
  }
  const bool rewinds = detail::rule_of(record.kind()).state == detail::OnState::returns;
  // A branch whose beginning is damaged has nothing to start over from.
  const bool has_start = facts_.forked.is_null() || line_.begin().has_value();
  const Sequence to = body ? field<Sequence>(*body, "to", 0) : 0;
  // A resumption that went on where the run stood knew of no hole, unless it stood at its start.
  const bool stood = record.kind() == RecordKind::resumed && to == 0 && line_.newest() != 0;
  if (broken_at_ && rewinds && readable && has_start && !stood && to < *broken_at_) {
    broken_at_.reset();
  }
  last_ = record.seq();
  if (!broken_at_) {
    if (record.kind() == RecordKind::step) {
      if (crashes_.watching()) crashes_.note(record);
      apply_step(record);
    } else if (record.kind() == RecordKind::state_changed) {
      if (crashes_.watching()) crashes_.note(show(*body));
      state_.set(body);
      touch(record.time());
    } else {
      apply_fact(record.kind(), body, record.time());
    }
  } else if (readable && body) {
    apply_effect(record.kind(), *body);  // Effects are never rewound, so all count.
  }
  if (!readable) effects_.note_lost_intent(record.seq());
}

// They belong to the open checkpoint, as the changes themselves would.
void Journal::apply_superseded(const SupersededChanges& changes) {
  if (!broken_at_ && changes.first != last_ + 1) broken_at_ = last_ + 1;
  last_ = changes.last;
  if (!broken_at_) touch(changes.time);
}

void Journal::apply_step(const Record& record) {
  meet(RecordKind::step);
  std::shared_ptr<detail::StepChunk> tail = trajectory_.tail();
  std::size_t size = trajectory_.size();
  if (const Record::Bytes* bytes = record.bytes()) {
    detail::append_encoded_step(tail, size, *bytes);
  }
  trajectory_ = Trajectory(std::move(tail), size);
  touch(record.time());
}

// A snapshot that contains the trajectory replaces all records before it
// (stores/simple/simple.cpp).
void Journal::replace_steps(const Json& steps) {
  trajectory_ = {};
  std::string encoded;
  for (const Json& step : steps) {
    encoded.clear();
    detail::encode_cbor(step, encoded);
    if (Result<Step> decoded = detail::decode_step(encoded)) {
      trajectory_.append(std::move(decoded).value());
    }
  }
}

// What a record other than a step or a state change means; last_ is its sequence.
void Journal::apply_fact(RecordKind kind, const std::shared_ptr<const Json>& body, WallTime time) {
  meet(kind);
  apply_effect(kind, *body);
  facts_.apply(kind, *body, time);
  switch (kind) {
    case RecordKind::run_started:
      auto_checkpoint_ = field(*body, "auto_checkpoint", auto_checkpoint_);
      break;
    case RecordKind::attempt_started: note_attempt(); break;
    case RecordKind::usage: {
      const auto child = facts_.awaited.find(text_field(*body, "ended_child"));
      if (child != facts_.awaited.end()) child->second.handed_at = last_;
      break;
    }
    case RecordKind::state_removed: apply_removal(*body, time); break;
    case RecordKind::state_snapshot: apply_snapshot(body, time); break;
    case RecordKind::checkpoint_labelled: apply_label(*body, time); break;
    case RecordKind::failure_classified:
      crashes_.note_resumed(false);
      if (const auto step = find_field<std::size_t>(*body, "critical_step")) {
        line_.mark_failed(*step);
      }
      break;
    case RecordKind::action_taken: {
      const bool by_default = field(*body, "default", false);
      if (by_default && body->contains("compensates_after")) {
        mark_used(field<Sequence>(*body, "compensates_after", 0));
      }
      const auto action = parse_recovery_kind(text_field(*body, "action"));
      if (action == RecoveryAction::Kind::retry || action == RecoveryAction::Kind::replan) {
        start_over();
      }
      break;
    }
    case RecordKind::rolled_back: apply_rollback(*body, time); break;
    case RecordKind::resumed:
      broken_at_.reset();
      crashes_.note_resumed(text_field(*body, "reason") == "process_died");
      if (const auto to = field<Sequence>(*body, "to", 0); to != 0) rewind_to(to);
      break;
    case RecordKind::gap:
      if (body->contains("repaired")) break;  // Documents holes, changes nothing.
      // 0: only a label was here.
      if (const auto until = field<Sequence>(*body, "compacted", 0); until != 0) {
        line_.forget_until(until);
      }
      touch(time);
      break;  // A snapshot with the lost changes follows.
    case RecordKind::suspended:
    case RecordKind::stopped: crashes_.note_resumed(false); break;
    default: break;
  }
}

void Journal::apply_effect(RecordKind kind, const Json& body) {
  if (effects_.apply(kind, body, last_, start_sequence())) crashes_.note_progress();
}

void Journal::apply_removal(const Json& body, WallTime time) {
  const auto keys = body.find("keys");
  if (keys == body.end() || !keys->is_array()) return;
  for (const Json& key : *keys) {
    if (key.is_string()) state_.erase(key.get<std::string>());
  }
  touch(time);
}

void Journal::apply_snapshot(const std::shared_ptr<const Json>& body, WallTime time) {
  const auto state = body->find("state");
  if (state == body->end() || !state->is_object()) return;
  State::Values values;
  for (const auto& [key, value] : state->get_ref<const Json::object_t&>()) {
    values.emplace_hint(values.end(), key, std::shared_ptr<const Json>(body, &value));
  }
  state_.replace(values);
  state_.note_snapshot();
  // The library's own snapshots repeat known state; only the agent's change it.
  const bool changes = line_.is_open() || field(*body, "replaced", false);
  // It repeats the state at the run's current position, which may have been left out on reading.
  const Sequence base = line_.base();
  if (!changes && base < state_from_ && last_ >= state_from_) learned_[base] = this->state();
  const auto steps = body->find("steps");
  const bool has_steps = steps != body->end();
  if (has_steps && steps->is_array()) replace_steps(*steps);
  if (changes) touch(time);
  // A branch begins with its first snapshot; see src/resume/fork.cpp.
  if (!line_.begin() && facts_.attempts == 0 && !facts_.forked.is_null() && has_steps) {
    line_.push_begin(place());
  }
}

void Journal::apply_label(const Json& body, WallTime time) {
  auto label = text_field(body, "label");
  if (field(body, "withdrawn", false)) return line_.withdraw_label(label);
  touch(time);
  push_position();
  line_.label(std::move(label));
}

void Journal::apply_rollback(const Json& body, WallTime time) {
  broken_at_.reset();
  const auto to = field<Sequence>(body, "to", 0);
  if (to == 0) return start_over();
  if (!rewind_to(to)) {  // The position is lost in a gap; a snapshot of the state follows.
    line_.cut_back(to, last_);
    trajectory_ = trajectory_.prefix(field(body, "steps", trajectory_.size()));
    touch(time);
  }
  if (field(body, "default", false)) mark_used(to);
}

}  // namespace triage::inline v0_1
