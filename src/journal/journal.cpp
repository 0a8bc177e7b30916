// SPDX-License-Identifier: MIT
#include "triage/journal.hpp"

#include "triage/detail/own_label.hpp"
#include "triage/detail/record_rules.hpp"
#include "triage/detail/step_chunk.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triage::inline v0_1 {

// --- Recording.

Record Journal::add(RecordKind kind, WallTime time, Json body) {
  auto shared = std::make_shared<const Json>(std::move(body));
  const Sequence seq = next();
  apply_fact(kind, shared, time);
  return {seq, kind, time, Record::Patch(std::move(shared))};
}

template <class Append>
void Journal::extend(const Step& step, WallTime time, Append append) {
  if (crashes_.watching()) [[unlikely]]
    crashes_.note(step);
  meet(RecordKind::step);
  std::shared_ptr<detail::StepChunk> tail = trajectory_.tail();
  std::size_t size = trajectory_.size();
  append(tail, size);
  trajectory_ = Trajectory(std::move(tail), size);
  next();
  touch(time);
}

void Journal::take_step(Step&& step, WallTime time) {
  extend(step, time,
         [&](auto& tail, auto& size) { detail::append_step(tail, size, std::move(step)); });
}

Record Journal::add_step(const Step& step, WallTime time) {
  auto encoded = std::make_shared<std::string>();
  detail::encode_step(step, *encoded);
  return add_step(step, std::move(encoded), time);
}

Record Journal::add_step(const Step& step, Record::Bytes encoded, WallTime time) {
  extend(step, time,
         [&](auto& tail, auto& size) { detail::append_encoded_step(tail, size, encoded); });
  return {last_, RecordKind::step, time, std::move(encoded)};
}

Record Journal::add_encoded_step(Record::Bytes encoded, WallTime time) {
  // Only a run that keeps dying looks at what its steps do.
  const Step step = crashes_.watching() ? detail::decode_step(*encoded).value() : Step{};
  return add_step(step, std::move(encoded), time);
}

Record Journal::change_state(Json patch, WallTime time) {
  auto shared = std::make_shared<const Json>(std::move(patch));
  const Sequence seq = next();
  if (crashes_.watching()) [[unlikely]]
    crashes_.note(show(*shared));
  state_.set(shared);
  touch(time);
  return {seq, RecordKind::state_changed, time, Record::Patch(std::move(shared))};
}

Record Journal::remove_state(std::string key, WallTime time) {
  return add(RecordKind::state_removed, time, Json{{"keys", Json::array({std::move(key)})}});
}

Record Journal::snapshot_state(Json state, bool replaced, WallTime time) {
  return add(RecordKind::state_snapshot, time,
             Json{{"state", std::move(state)}, {"replaced", replaced}});
}

Record Journal::label_checkpoint(std::string label, WallTime time) {
  return add(RecordKind::checkpoint_labelled, time, Json{{"label", std::move(label)}});
}

void Journal::end_checkpoint(bool always) {
  // Without automatic checkpoints it stays open: the newest position still contains it.
  if (line_.is_open() && (auto_checkpoint_ || always)) push_position();
}

void Journal::meet(RecordKind kind) {
  const detail::OnCheckpoint does = detail::rule_of(kind).checkpoint;
  if (does == detail::OnCheckpoint::begins || does == detail::OnCheckpoint::ends) {
    end_checkpoint(kind == RecordKind::resumed);  // A resumption may refer to it, automatic or not.
  }
}

void Journal::begin_attempt(int number) {
  meet(RecordKind::attempt_started);
  facts_.attempts = number;
  note_attempt();
}

// What a call was given behind the attempt's beginning, it does not know of.
void Journal::note_attempt() {
  line_.begin_attempt();
  for (auto& [run, awaited] : facts_.awaited) {
    if (awaited.handed_at > line_.newest()) awaited.handed_at = 0;
  }
}

void Journal::take_action(HistoryEntry entry) {
  meet(RecordKind::action_taken);
  const bool again =
      entry.action == RecoveryAction::Kind::retry || entry.action == RecoveryAction::Kind::replan;
  facts_.take_action(std::move(entry));
  if (again) start_over();
}

void Journal::note_failure(std::optional<std::size_t> critical_step) {
  meet(RecordKind::failure_classified);
  facts_.undecided = false;
  if (critical_step) line_.mark_failed(*critical_step);
}

void Journal::decide_awaited(const RunId& run, Json action, std::string by) {
  AwaitedRun& awaited = facts_.awaited[run];
  awaited.decision = std::move(action);
  awaited.by = std::move(by);
}

Journal::Position Journal::place() const {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  return {.state_version = state_.newest(),
          .attempt = static_cast<std::uint32_t>(facts_.attempts),
          .steps = trajectory_.size(),
          .tail = trajectory_.tail(),
          .delta_cost = static_cast<std::uint32_t>(std::min(state_.delta_cost(), most))};
}

// --- Going back.

void Journal::replace_state(const State& state) {
  static const State::Values none;
  state_.replace(state.empty() ? none : *state.values());
}

void Journal::rewind(std::size_t position) {
  const Position& to = positions()[position];
  trajectory_ = Trajectory(to.tail, to.steps);
  replace_state(state_of(to));
  state_.note_return(to.delta_cost);
  line_.return_to(position, last_);
}

bool Journal::rewind_to(Sequence seq) {
  const auto position = find(seq);
  if (position) rewind(*position);
  return position.has_value();
}

void Journal::start_over() {
  end_checkpoint();
  if (line_.begin()) {
    const Position& start = positions()[*line_.begin()];
    trajectory_ = Trajectory(start.tail, start.steps);
    replace_state(state_.at(start.state_version));
  } else {
    trajectory_ = {};
    replace_state({});
  }
  line_.return_to_begin(last_);
}

// --- Reading.

State Journal::state_of(const Position& position) const {
  if (position.seq >= state_from_) return state_.at(position.state_version);
  const auto learned = learned_.find(position.seq);
  return learned == learned_.end() ? State() : learned->second;
}

bool Journal::knows_state(std::size_t position) const {
  const Sequence seq = positions()[position].seq;
  return seq >= state_from_ || learned_.contains(seq);
}

void Journal::learn_state(std::size_t position, State state) {
  if (!knows_state(position)) learned_.emplace(positions()[position].seq, std::move(state));
}

// Inherited effects are the origin's to undo.
bool Journal::claims_undone(Sequence seq, std::int32_t newest_cut) const {
  const auto& undone = effects_.undone();
  return std::any_of(undone.upper_bound(start_sequence()), undone.upper_bound(seq),
                     [&](const auto& effect) {
                       return !line_.left_behind(effect.first, effect.second, newest_cut);
                     });
}

bool Journal::claims_undone(std::size_t position) const {
  return claims_undone(positions()[position].seq, positions()[position].cut);
}

std::optional<Sequence> Journal::before_undone() const {
  if (!claims_undone(last_, line_.newest_cut())) return std::nullopt;
  for (std::size_t i = branch().size(); i-- > 0;) {
    if (!claims_undone(branch()[i])) return positions()[branch()[i]].seq;
  }
  return 0;
}

CheckpointInfo Journal::info(std::size_t position) const {
  const Position& at = positions()[position];
  return detail::as_listed({.id = {run_, at.seq},
                            .steps = at.steps,
                            .label = label_of(at.seq),
                            .time = at.time,
                            .attempt = static_cast<int>(at.attempt)});
}

Checkpoint Journal::restore(std::size_t position) const {
  const Position& at = positions()[position];
  return {info(position), state_of(at), Trajectory(at.tail, at.steps)};
}

Checkpoint Journal::latest() const {
  const Sequence seq = line_.newest();
  return {detail::as_listed({.id = {run_, seq},
                             .steps = trajectory_.size(),
                             .label = label_of(seq),
                             .time = line_.open_time(),
                             .attempt = facts_.attempts}),
          state(), trajectory_};
}

}  // namespace triage::inline v0_1
