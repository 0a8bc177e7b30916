// SPDX-License-Identifier: MIT
// Folding records into a journal: what each kind means for state, trajectory, checkpoints and
// effects.
#include "journal/record_body.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1 {

using detail::field;

namespace {

// Bounds what a stored number may claim.
constexpr int most_attempts = 1'000'000'000;

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
  journal.note_lost_records(reading);
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
  const bool rewinds =
      record.kind() == RecordKind::rolled_back || record.kind() == RecordKind::resumed;
  // A branch whose beginning is damaged has nothing to start over from.
  const bool has_start = forked_.is_null() || begin_.has_value();
  if (broken_at_ && rewinds && readable && has_start &&
      field<Sequence>(*body, "to", 0) < *broken_at_) {
    broken_at_.reset();
  }
  last_ = record.seq();
  if (!broken_at_) {
    if (record.kind() == RecordKind::step) {
      if (resumed_after_death_) note_life(record);
      apply_step(record);
    } else if (record.kind() == RecordKind::state_changed) {
      if (resumed_after_death_) note_life(show(*body));
      set_keys(body);
      touch(record.time());
    } else {
      apply_fact(record.kind(), body, record.time());
    }
  } else if (readable && body) {
    apply_effect(record.kind(), *body);  // Effects are never rewound, so none may be forgotten.
  }
  if (!readable) note_lost_intent(record.seq());
}

// They belong to the checkpoint that is open, as the changes themselves would.
void Journal::apply_superseded(const SupersededChanges& changes) {
  if (!broken_at_ && changes.first != last_ + 1) broken_at_ = last_ + 1;
  last_ = changes.last;
  if (!broken_at_) touch(changes.time);
}

void Journal::apply_step(const Record& record) {
  end_checkpoint();
  std::shared_ptr<detail::StepChunk> tail = trajectory_.tail();
  std::size_t size = trajectory_.size();
  if (const detail::StepRef* ref = record.step_ref()) {
    // The steps of a journal in memory are shared where the chain of chunks is the same.
    auto chunk = std::const_pointer_cast<detail::StepChunk>(ref->chunk);
    if (chunk->first() + ref->slot == size && (chunk == tail || chunk->previous() == tail)) {
      tail = std::move(chunk);
      ++size;
    } else {
      detail::append_step(tail, size, Step(ref->step()));
    }
  } else if (const Record::Bytes* bytes = record.bytes()) {
    detail::append_encoded_step(tail, size, *bytes);
  }
  trajectory_ = Trajectory(std::move(tail), size);
  touch(record.time());
}

// A snapshot that carries the trajectory too stands for all records before it
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
  switch (kind) {
    case RecordKind::run_started:
      start_ = *body;
      auto_checkpoint_ = field(*body, "auto_checkpoint", auto_checkpoint_);
      break;
    case RecordKind::attempt_started:
      begin_attempt(std::clamp(field(*body, "number", attempts_ + 1), 0, most_attempts));
      break;
    case RecordKind::state_removed:
      if (const auto keys = body->find("keys"); keys != body->end() && keys->is_array()) {
        for (const Json& key : *keys) {
          if (key.is_string()) erase_key(key.get<std::string>());
        }
        touch(time);
      }
      break;
    case RecordKind::state_snapshot: {
      const auto state = body->find("state");
      if (state == body->end() || !state->is_object()) break;
      State::Values values;
      for (const auto& [key, value] : state->get_ref<const Json::object_t&>()) {
        values.emplace_hint(values.end(), key, std::shared_ptr<const Json>(body, &value));
      }
      replace_keys(values);
      delta_cost_ = 0;
      // It repeats the state of the position that the run stands at, which may have been left out.
      const bool repeats = !open_ && !field(*body, "replaced", false);
      if (repeats && base_ < state_from_ && last_ >= state_from_) learned_[base_] = this->state();
      if (const auto steps = body->find("steps"); steps != body->end() && steps->is_array()) {
        replace_steps(*steps);
      }
      // The library's own snapshots repeat what is known; only the agent's change something.
      if (open_ || field(*body, "replaced", false)) touch(time);
      // With its first snapshot a branch is what it begins with; see src/resume/fork.cpp.
      if (!begin_ && attempts_ == 0 && !forked_.is_null() && body->contains("steps")) {
        push_position();
        begin_ = positions_.size() - 1;
      }
      break;
    }
    case RecordKind::usage:
      usage_ += Usage{.input_tokens = field<std::uint64_t>(*body, "input_tokens", 0),
                      .output_tokens = field<std::uint64_t>(*body, "output_tokens", 0),
                      .cost_usd = field(*body, "cost_usd", 0.0),
                      .calls = field<std::uint64_t>(*body, "calls", 0)};
      break;
    case RecordKind::checkpoint_labelled: apply_label(*body, time); break;
    case RecordKind::effect_intended:
    case RecordKind::effect_completed:
    case RecordKind::effect_withdrawn:
    case RecordKind::compensation_intended:
    case RecordKind::compensation_completed:
    case RecordKind::compensation_withdrawn: apply_effect(kind, *body); break;
    case RecordKind::failure_classified:
      count_crash(false);
      note_failure(body->contains("critical_step")
                       ? std::optional(field<std::size_t>(*body, "critical_step", 0))
                       : std::nullopt);
      break;
    case RecordKind::action_taken:
      take_action(
          {parse_failure_type(field<std::string>(*body, "type", {})).value_or(FailureType::unknown),
           parse_recovery_kind(field<std::string>(*body, "action", {}))
               .value_or(RecoveryAction::Kind::escalate),
           field<std::string>(*body, "reason", {}), field<std::string>(*body, "by", {}),
           field(*body, "refused", false)});
      if (body->contains("compensates_after")) {
        compensating_after_ = field<Sequence>(*body, "compensates_after", 0);
        const bool by_default = field(*body, "default", false);
        if (by_default) mark_used(*compensating_after_);
      }
      break;
    case RecordKind::rolled_back:
      broken_at_.reset();
      compensating_after_.reset();
      end_checkpoint();
      if (field<Sequence>(*body, "to", 0) == 0) {
        start_over();
      } else {
        if (!rewind_to(field<Sequence>(*body, "to", 0))) {
          // A gap swallowed the position. The state follows as a snapshot.
          cut_back(field<Sequence>(*body, "to", 0), cut_);
          trajectory_ = trajectory_.prefix(field(*body, "steps", trajectory_.size()));
          touch(time);
        }
        if (field(*body, "default", false)) used_targets_.insert(field<Sequence>(*body, "to", 0));
      }
      break;
    case RecordKind::resumed:
      broken_at_.reset();
      end_checkpoint(true);
      apply_going_on(*body, time);
      if (const auto to = field<Sequence>(*body, "to", 0); to != 0) rewind_to(to);
      break;
    case RecordKind::gap:
      gaps_.emplace_back(field<Sequence>(*body, "first", 0), field<Sequence>(*body, "last", 0));
      attempts_ = std::clamp(field(*body, "attempts", attempts_), 0, most_attempts);
      touch(time);  // The snapshot behind it holds what the lost records changed.
      break;
    case RecordKind::finished:
      end_checkpoint();
      finished_ = *body;
      compensating_after_.reset();
      break;
    case RecordKind::suspended: apply_suspended(body); break;
    case RecordKind::stopped:
      compensating_after_.reset();
      end_checkpoint();
      stopped_ = *body;
      aborting_ = false;
      count_crash(false);
      break;
    case RecordKind::forked: forked_ = *body; break;
    case RecordKind::signal_received:
      signals_[field<std::string>(*body, "name", {})] =
          body->contains("value") ? std::optional((*body)["value"]) : std::nullopt;
      break;
    case RecordKind::sleep_begun:
      sleeps_.emplace(
          field<std::string>(*body, "name", {}),
          WallTime(std::chrono::milliseconds(field<std::int64_t>(*body, "until_ms", 0))));
      break;
    default: break;
  }
}

void Journal::apply_suspended(const std::shared_ptr<const Json>& body) {
  suspended_ = *body;
  end_checkpoint();
  stopped_ = *body;
  if (field(*body, "waiting", false)) ++suspended_attempts_;
  count_crash(false);
  const auto child = body->find("child");
  if (child == body->end() || !child->is_object()) return;
  await(field<std::string>(*child, "run", {}),
        {.agent = field<std::string>(*child, "agent", {}),
         .task = field<std::string>(*child, "task", {}),
         .ticket = field<std::string>(*child, "ticket", {})});
}

void Journal::decide_awaited(const RunId& run, Json action, std::string by) {
  AwaitedRun& awaited = awaited_[run];
  awaited.decision = std::move(action);
  awaited.by = std::move(by);
}

// The run goes on: after a crash, an end without a result, or a decision.
void Journal::apply_going_on(const Json& body, WallTime time) {
  const auto decided = body.find("decision");
  decision_ = decided == body.end() ? Json() : body;
  const auto child = body.find("child_decision");
  if (child != body.end() && child->is_object()) {
    decide_awaited(field<std::string>(*child, "run", {}), child->value("action", Json()),
                   field<std::string>(body, "by", {}));
  }
  const auto proposed = field<std::string>(suspended_, "proposed", {});
  const auto kind = parse_recovery_kind(field<std::string>(body, "action", {}));
  const bool approves = kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::resume;
  if (!proposed.empty() && approves) approved_.insert(proposed);
  count_crash(field<std::string>(body, "reason", {}) == "process_died");
  const auto place = field<std::string>(suspended_, "place", {});
  const auto until = field<std::int64_t>(suspended_, "until_ms", 0);
  if (!place.empty() && time.time_since_epoch().count() >= until) {
    served_waits_[place] = std::chrono::milliseconds(field<std::int64_t>(suspended_, "wait_ms", 0));
  }
  aborting_ = false;
  finished_ = nullptr;
  stopped_ = nullptr;
  suspended_ = nullptr;
}

void Journal::apply_label(const Json& body, WallTime time) {
  const auto label = field<std::string>(body, "label", {});
  if (field(body, "withdrawn", false)) {  // The store could not keep it: the one before counts.
    const auto found = labels_.find(label);
    if (found == labels_.end()) return;
    found->second.pop_back();
    if (found->second.empty()) labels_.erase(found);
    return;
  }
  open_last_ = last_;
  open_time_ = time;
  push_position();
  labels_[label].push_back(positions_.back().seq);
}

// Also a position inside an open step, or of a run without automatic checkpoints, can be meant:
// `resumed` may name the newest record there was.
bool Journal::rewind_to(Sequence seq) {
  if (const auto position = find(seq)) {
    rewind(*position);
    return true;
  }
  return false;
}

}  // namespace triage::inline v0_1
