// SPDX-License-Identifier: MIT
#include "triage/journal.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace triage::inline v0_1 {
namespace {

// What replaying one more record costs beside its bytes: a row fetched and decoded.
constexpr std::size_t record_cost = 64;
// Below this, replaying is cheap whatever the state's size.
constexpr std::size_t free_delta_cost = 8'192;

std::size_t rough_cost(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string: return 3 + value.get_ref<const std::string&>().size();
    case Json::value_t::array:
    case Json::value_t::object: {
      std::size_t sum = 3;
      for (const auto& [key, element] : value.items()) sum += key.size() + rough_cost(element);
      return sum;
    }
    default: return 9;
  }
}

}  // namespace

Record Journal::add(RecordKind kind, WallTime time, Json body) {
  auto shared = std::make_shared<const Json>(std::move(body));
  const Sequence seq = next();
  apply_fact(kind, shared, time);
  return {seq, kind, time, Record::Patch(std::move(shared))};
}

void Journal::take_step(Step&& step, WallTime time) {
  if (resumed_after_death_) [[unlikely]]
    note_life(step);
  end_checkpoint();
  std::shared_ptr<detail::StepChunk> tail = trajectory_.tail();
  std::size_t size = trajectory_.size();
  detail::append_step(tail, size, std::move(step));
  trajectory_ = Trajectory(std::move(tail), size);
  next();
  touch(time);
}

Record Journal::add_step(Step&& step, WallTime time) {
  take_step(std::move(step), time);
  return {last_, RecordKind::step, time,
          detail::newest_step(trajectory_.tail(), trajectory_.size())};
}

Record Journal::change_state(Json patch, WallTime time) {
  auto shared = std::make_shared<const Json>(std::move(patch));
  const Sequence seq = next();
  if (resumed_after_death_) [[unlikely]]
    note_life(show(*shared));
  set_keys(shared);
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

bool Journal::wants_snapshot() const noexcept {
  return delta_cost_ > 2 * state_cost_ + free_delta_cost;
}

Record Journal::label_checkpoint(std::string label, WallTime time) {
  return add(RecordKind::checkpoint_labelled, time, Json{{"label", std::move(label)}});
}

void Journal::end_checkpoint(bool always) {
  // Without automatic checkpoints it stays open: the newest position still contains it.
  if (open_ && (auto_checkpoint_ || always)) push_position();
}

void Journal::begin_attempt(int number) {
  end_checkpoint();
  attempts_ = number;
  attempt_first_position_ = positions_.size();
}

void Journal::take_action(HistoryEntry entry) {
  end_checkpoint();
  const bool again =
      entry.action == RecoveryAction::Kind::retry || entry.action == RecoveryAction::Kind::replan;
  // What was decided during a suspension is still about the same failure.
  if (undecided_) history_.pop_back();
  undecided_ = entry.action == RecoveryAction::Kind::suspend;
  decision_ = nullptr;
  aborting_ = entry.action == RecoveryAction::Kind::abort;
  if (history_.empty()) history_.reserve(4);  // Few runs fail more often.
  history_.push_back(std::move(entry));
  if (again) start_over();
}

void Journal::push_position() {
  const std::int32_t previous = branch_.empty() ? -1 : static_cast<std::int32_t>(branch_.back());
  branch_.push_back(static_cast<std::uint32_t>(positions_.size()));
  positions_.push_back({.seq = open_last_,
                        .state_version = version_,
                        .attempt = static_cast<std::uint32_t>(attempts_),
                        .steps = trajectory_.size(),
                        .tail = trajectory_.tail(),
                        .time = open_time_,
                        .previous = previous,
                        .cut = cut_,
                        .delta_cost = static_cast<std::uint32_t>(std::min<std::size_t>(
                            delta_cost_, std::numeric_limits<std::uint32_t>::max()))});
  base_ = positions_.back().seq;
  open_ = false;
}

void Journal::touch(WallTime time) noexcept {
  open_ = true;
  open_time_ = time;
  open_last_ = last_;
}

void Journal::rewind(std::size_t position) {
  const Position& to = positions_[position];
  trajectory_ = Trajectory(to.tail, to.steps);
  const State then = state_of(to);
  static const State::Values none;
  replace_keys(then.empty() ? none : *then.values());
  delta_cost_ = to.delta_cost + record_cost;  // Reading goes on behind the position's snapshot.
  branch_.clear();
  for (auto i = static_cast<std::int32_t>(position); i >= 0;
       i = positions_[static_cast<std::size_t>(i)].previous) {
    branch_.push_back(static_cast<std::uint32_t>(i));
  }
  std::reverse(branch_.begin(), branch_.end());
  base_ = to.seq;
  open_ = false;
  cut_back(to.seq, to.cut);
}

void Journal::cut_back(Sequence to, std::int32_t before) {
  cuts_.push_back({to, last_, before});
  cut_ = static_cast<std::int32_t>(cuts_.size()) - 1;
}

void Journal::start_over() {
  end_checkpoint();
  open_ = false;
  if (!begin_) {
    trajectory_ = {};
    replace_keys({});
    base_ = 0;
    return cut_back(0, -1);
  }
  const Position start = positions_[*begin_];
  trajectory_ = Trajectory(start.tail, start.steps);
  const State then = state_at(start.state_version);
  replace_keys(then.empty() ? State::Values() : *then.values());
  base_ = start.seq;
  cut_back(start.seq, start.cut);
}

void Journal::note_failure(std::optional<std::size_t> critical_step) {
  end_checkpoint();
  undecided_ = false;
  if (!critical_step) return;
  for (std::size_t i = attempt_first_position_; i < positions_.size(); ++i) {
    if (positions_[i].steps > *critical_step) positions_[i].failed = true;
  }
}

// --- State.

void Journal::set_key(const std::string& key, std::shared_ptr<const Json> value) {
  auto& versions = versions_[key];
  const std::size_t before =
      versions.empty() || !versions.back().value ? 0 : rough_cost(*versions.back().value);
  const std::size_t after = value ? rough_cost(*value) : 0;
  state_cost_ = state_cost_ - std::min(state_cost_, before) + after;
  delta_cost_ += after + key.size();
  if (!versions.empty() && versions.back().at == version_) {
    versions.back().value = std::move(value);
  } else {
    versions.push_back({version_, std::move(value)});
  }
}

void Journal::set_keys(const std::shared_ptr<const Json>& patch) {
  ++version_;
  current_.reset();
  delta_cost_ += record_cost;
  for (const auto& [key, value] : patch->get_ref<const Json::object_t&>()) {
    set_key(key, std::shared_ptr<const Json>(patch, &value));
  }
}

void Journal::erase_key(const std::string& key) {
  ++version_;
  current_.reset();
  delta_cost_ += record_cost;
  const auto found = versions_.find(key);
  if (found != versions_.end() && found->second.back().value) set_key(key, nullptr);
}

void Journal::replace_keys(const State::Values& values) {
  ++version_;
  current_.reset();
  for (auto& [key, versions] : versions_) {
    if (versions.back().value && !values.contains(key)) set_key(key, nullptr);
  }
  for (const auto& [key, value] : values) {
    auto& versions = versions_[key];
    if (versions.empty() || versions.back().value != value) set_key(key, value);
  }
}

State Journal::state_at(std::uint32_t version) const {
  auto values = std::make_shared<State::Values>();
  for (const auto& [key, versions] : versions_) {
    const auto after = std::upper_bound(
        versions.begin(), versions.end(), version,
        [](std::uint32_t at, const Version& candidate) { return at < candidate.at; });
    if (after != versions.begin() && std::prev(after)->value) {
      values->emplace_hint(values->end(), key, std::prev(after)->value);
    }
  }
  return values->empty() ? State() : State(std::move(values));
}

State Journal::state_of(const Position& position) const {
  if (position.seq >= state_from_) return state_at(position.state_version);
  const auto learned = learned_.find(position.seq);
  return learned == learned_.end() ? State() : learned->second;
}

bool Journal::knows_state(std::size_t position) const {
  const Sequence seq = positions_[position].seq;
  return seq >= state_from_ || learned_.contains(seq);
}

void Journal::learn_state(std::size_t position, State state) {
  if (!knows_state(position)) learned_.emplace(positions_[position].seq, std::move(state));
}

State Journal::state() const {
  if (!current_) current_ = state_at(version_);
  return *current_;
}

// --- Reading.

std::optional<std::size_t> Journal::find(Sequence seq) const {
  const auto at = std::lower_bound(
      positions_.begin(), positions_.end(), seq,
      [](const Position& position, Sequence wanted) { return position.seq < wanted; });
  if (at == positions_.end() || at->seq != seq) return std::nullopt;
  return static_cast<std::size_t>(at - positions_.begin());
}

std::optional<std::size_t> Journal::find_label(std::string_view label) const {
  const auto found = labels_.find(label);
  return found == labels_.end() ? std::nullopt : find(found->second.back());
}

std::string Journal::label_of(Sequence seq) const {
  for (const auto& [label, at] : labels_) {
    if (at.back() == seq) return label;
  }
  return {};
}

CheckpointInfo Journal::info(std::size_t position) const {
  const Position& at = positions_[position];
  return {.id = {run_, at.seq},
          .steps = at.steps,
          .label = label_of(at.seq),
          .time = at.time,
          .attempt = static_cast<int>(at.attempt)};
}

Checkpoint Journal::restore(std::size_t position) const {
  const Position& at = positions_[position];
  return {info(position), state_of(at), Trajectory(at.tail, at.steps)};
}

Checkpoint Journal::latest() const {
  const Sequence seq = open_ ? open_last_ : base_;
  return {{.id = {run_, seq},
           .steps = trajectory_.size(),
           .label = label_of(seq),
           .time = open_time_,
           .attempt = attempts_},
          state(),
          trajectory_};
}

}  // namespace triage::inline v0_1
