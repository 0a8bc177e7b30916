// SPDX-License-Identifier: MIT
// What an attempt records: the locked part of Attempt. Effects are in effects.cpp.
#include "base/error_more.hpp"
#include "base/run_catching.hpp"
#include "contract/step_breaches.hpp"
#include "run/run.hpp"
#include "triage/compaction.hpp"
#include "triage/detail/store_extension.hpp"
#include "triage/detail/try.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_label = 256;

Result<void> check_size(std::string_view text, std::size_t longest, const std::string& what) {
  if (!text.empty() && text.size() <= longest) return outcome::success();
  return Error{Errc::invalid_argument, what + " has " + std::to_string(text.size()) +
                                           " bytes; allowed are 1 to " + std::to_string(longest)};
}

Error no_compaction() {
  return {Errc::unsupported, "the run has no store whose records could be compacted"};
}

// NaN is kept, because tools return it and CBOR can store it; only unstorable values are refused.
Result<void> check_step(const Step& step) {
  for (const Json* json : {&step.tool_input, &step.tool_output, &step.metadata}) {
    if (!json->is_structured() && !json->is_binary() && !json->is_discarded()) continue;
    auto checked =
        check_json(*json, "a step's tool_input, tool_output or metadata", NonFinite::allowed);
    if (!checked) return checked;
  }
  return outcome::success();
}

// A full state and a patch are both objects.
Result<void> check_state(const Json& state, const std::string& what, const std::string& hint) {
  if (state.is_object()) return check_json(state, what);
  return Error{Errc::invalid_argument, what + " must be a JSON object" + hint + "; this is a " +
                                           std::string(state.type_name()) + ": " +
                                           show(state).substr(0, 200)};
}

Result<void> check_usage(const Usage& usage) {
  if (std::isfinite(usage.cost_usd) && usage.cost_usd >= 0.0) return outcome::success();
  return Error{Errc::invalid_argument, "usage.cost_usd is " + std::to_string(usage.cost_usd) +
                                           "; allowed is 0 or a positive finite number"};
}

}  // namespace

bool Run::is_late(int attempt) {
  if (open_attempt_.load(std::memory_order_relaxed) == attempt) return false;
  ++made_data().late_calls;
  return true;
}

// Anything after a record that the store refused would describe a state that never existed.
bool Run::takes_nothing(int attempt) { return is_late(attempt) || (data_ && data_->refused); }

void Run::carry_thread(bool begins) {
  made_data();
  const Lock lock(mutex_);
  std::set<std::thread::id>& carried = data_->extras().carried;
  if (begins) {
    carried.insert(std::this_thread::get_id());
  } else {
    carried.erase(std::this_thread::get_id());
  }
}

bool Run::is_carried() const {
  const Lock lock(mutex_);
  return data_ && data_->made_extras &&
         data_->made_extras->carried.contains(std::this_thread::get_id());
}

void Run::stick(int attempt, Error error) {
  const std::scoped_lock lock(mutex_);
  const int open = open_attempt_.load(std::memory_order_relaxed);
  // The callable has returned, but the run waits for this effect: its doubt still counts.
  const bool awaited = open == 0 && error.code == Errc::in_doubt && attempt == attempt_;
  if (open != attempt && !awaited) return;
  std::optional<Error>& sticky = made_data().attempt.sticky;
  // A later store error must not hide that an effect is in doubt.
  if (!sticky || error.code == Errc::in_doubt) sticky = std::move(error);
}

void Run::note_stopped(int attempt) {
  const std::scoped_lock lock(mutex_);
  if (!is_late(attempt)) made_data().attempt.stopped = true;
}

const RunData* Run::seen_by(int attempt) const noexcept {
  return open_attempt_.load(std::memory_order_relaxed) == attempt ? data_.get() : nullptr;
}

bool Run::refused(Result<void>& checked) {
  if (checked) return false;
  if (!made_data().attempt.sticky) data_->attempt.sticky = std::move(checked).error();
  return true;
}

std::optional<Error> Run::sticky(int attempt) const {
  const std::scoped_lock lock(mutex_);
  const RunData* data = seen_by(attempt);
  return data != nullptr ? data->attempt.sticky : std::nullopt;
}

State Run::state(int attempt) const {
  const std::scoped_lock lock(mutex_);
  const RunData* data = seen_by(attempt);
  return data != nullptr ? data->journal.state() : State();
}

Trajectory Run::trajectory(int attempt) const {
  const std::scoped_lock lock(mutex_);
  const RunData* data = seen_by(attempt);
  return data != nullptr ? data->journal.trajectory() : Trajectory();
}

const Recovery* Run::recovery(int attempt) const {
  const std::scoped_lock lock(mutex_);
  const RunData* data = seen_by(attempt);
  return data != nullptr ? data->recovery.get() : nullptr;
}

void Run::child_failed(int attempt, std::shared_ptr<const FailureContext> failure) {
  const std::scoped_lock lock(mutex_);
  if (is_late(attempt)) return;
  RunData& data = made_data();
  data.attempt.child = std::move(failure);
  data.attempt.child_at = data.journal.last();
}

void Run::write_through(int attempt, Lock lock) {
  const RunWriter& writer = data_->writer;
  // Before it is full, so that a store that fails once is tried again in time.
  const bool full =
      writer.pending.size() >= writer.capacity - writer.capacity / 4 && data_->started;
  const bool due = writer.is_due();
  const std::optional<Error> failed = data_->detached ? std::nullopt : writer.failure;
  lock.unlock();
  if (failed) notice_failure(*failed);
  if ((full || core_.options.write_mode == WriteMode::immediate) && due) {
    if (Result<void> drained = drain_or_degrade(); !drained)
      stick(attempt, std::move(drained).error());
  }
}

Result<void> Run::store_now(int attempt) {
  {
    const Lock lock(mutex_);
    if (is_late(attempt) || !has_store()) return outcome::success();
    if (data_->started && data_->writer.durable >= data_->writer.queued) return outcome::success();
  }
  Result<void> drained = drain_or_degrade();  // Even if the store's thread has just failed.
  if (!drained) stick(attempt, drained.error());
  return drained;
}

Result<Compaction> Run::compact_now(int attempt, const CompactionRule& rule) {
  {
    const Lock lock(mutex_);
    if (is_late(attempt) || !has_store()) return no_compaction();
  }
  TRIAGE_TRYV(drain_strictly());
  Lease lease;
  {
    const Lock lock(mutex_);
    lease = data_->writer.lease;
  }
  CheckpointStore& store = *data_->store;
  return store.queue().between_appends(
      [&] { return run_catching([&] { return compact_held_run(store, lease, rule); }); });
}

Result<void> Run::forget_checkpoints(int attempt, std::span<const CheckpointInfo> labelled) {
  Lease lease;
  {
    const Lock lock(mutex_);
    if (is_late(attempt) || !has_store() || extension_of<CompactsRuns>(*data_->store) == nullptr) {
      return no_compaction();
    }
    lease = data_->writer.lease;
  }
  std::vector<SequenceRange> ranges;
  std::vector<Record> instead;
  for (const CheckpointInfo& one : labelled) {
    const Sequence seq = one.id.sequence;
    ranges.push_back({seq, seq});
    instead.emplace_back(
        seq, RecordKind::gap, one.time,
        std::make_shared<const Json>(Json{{"first", seq}, {"last", seq - 1}, {"compacted", 0}}));
  }
  CheckpointStore& store = *data_->store;
  return store.queue().between_appends([&] {
    return run_catching(
        [&] { return extension_of<CompactsRuns>(store)->replace(lease, ranges, instead); });
  });
}

void Run::snapshot_if_due() {
  Journal& journal = data_->journal;
  if (data_->store && journal.wants_snapshot()) {
    enqueue(journal.snapshot_state(journal.state().json(), false, core_.clock->wall_now()));
  }
}

void Run::record_step(int attempt, const Step& step, Step* movable) {
  note_activity();
  Record::Bytes encoded;
  Result<void> checked = outcome::success();
  if (options_.store || core_.options.store) encoded = encode_if_storable(step);
  if (!encoded) checked = check_step(step);
  Lock lock(mutex_);
  if (takes_nothing(attempt)) return;
  if (refused(checked)) return;
  std::vector<StepBreach> broken;
  if (const AgentContract* held_to = contract().get(); held_to != nullptr && judges_steps(*held_to))
      [[unlikely]] {
    broken = judge_unlocked(step, lock);
    if (takes_nothing(attempt)) return;
  }
  RunData& data = made_data();
  if (!data.store) {
    data.journal.take_step(movable != nullptr ? std::move(*movable) : Step(step), WallTime());
    keep(broken);
    if (observer() == nullptr) [[likely]]
      return;
    const Trajectory kept = data.journal.trajectory();
    lock.unlock();
    tell_of_step(attempt, kept.back(), kept.size() - 1, broken);
    return;
  }
  make_room();
  const WallTime time = core_.clock->wall_now();
  enqueue(encoded ? data.journal.add_step(step, std::move(encoded), time)
                  : data.journal.add_step(step, time));
  keep(broken);
  if (observer() != nullptr) [[unlikely]] {
    const std::size_t index = newest_step();
    lock.unlock();
    tell_of_step(attempt, step, index, broken);
    lock.lock();
  }
  write_through(attempt, std::move(lock));
}

void Run::record_step(int attempt, const Step& step, const StepValues& values) {
  note_activity();
  Result<Record::Bytes> encoded = encode_step(step, values);
  Lock lock(mutex_);
  if (takes_nothing(attempt)) return;
  if (!encoded) {
    Result<void> checked = std::move(encoded).error();
    refused(checked);
    return;
  }
  const AgentContract* const held_to = contract().get();
  if (observer() != nullptr || (held_to != nullptr && judges_steps(*held_to))) {
    lock.unlock();
    Step whole = decode_step(*encoded.value()).value();
    record_step(attempt, whole, &whole);
    return;
  }
  RunData& data = made_data();
  if (!data.store) {
    data.journal.add_encoded_step(std::move(encoded).value(), WallTime());
    return;
  }
  make_room();
  enqueue(data.journal.add_encoded_step(std::move(encoded).value(), core_.clock->wall_now()));
  write_through(attempt, std::move(lock));
}

void Run::update_state(int attempt, Json patch) {
  Result<void> checked = check_state(patch, "a state patch", ", such as {{\"page\", 1}}");
  Lock lock(mutex_);
  if (takes_nothing(attempt)) return;
  if (refused(checked) || patch.empty()) return;
  RunData& data = made_data();
  make_room();
  Record record = data.journal.change_state(std::move(patch),
                                            data.store ? core_.clock->wall_now() : WallTime());
  if (!data.store) return;
  enqueue(std::move(record));
  snapshot_if_due();
  write_through(attempt, std::move(lock));
}

void Run::remove_state(int attempt, std::string_view key) {
  Lock lock(mutex_);
  if (takes_nothing(attempt)) return;
  RunData& data = made_data();
  if (!data.journal.has_key(key)) return;
  make_room();
  Record record = data.journal.remove_state(std::string(key), core_.clock->wall_now());
  if (!data.store) return;
  enqueue(std::move(record));
  write_through(attempt, std::move(lock));
}

void Run::replace_state(int attempt, Json state) {
  Result<void> checked = check_state(state, "a state", "");
  Lock lock(mutex_);
  if (takes_nothing(attempt)) return;
  if (refused(checked)) return;
  RunData& data = made_data();
  make_room();
  Record record = data.journal.snapshot_state(std::move(state), true, core_.clock->wall_now());
  if (!data.store) return;
  enqueue(std::move(record));
  write_through(attempt, std::move(lock));
}

void Run::record_usage(int attempt, const Usage& usage) {
  note_activity();
  Result<void> checked = check_usage(usage);
  Lock lock(mutex_);
  if (takes_nothing(attempt) || refused(checked)) return;
  RunData& data = made_data();
  if (usage.calls <= 1) data.attempt.newest_call_tokens = usage.tokens();
  make_room();
  Record record = data.journal.add(RecordKind::usage, core_.clock->wall_now(),
                                   Json{{"input_tokens", usage.input_tokens},
                                        {"output_tokens", usage.output_tokens},
                                        {"cost_usd", usage.cost_usd},
                                        {"calls", usage.calls}});
  if (!data.store) return;
  enqueue(std::move(record));
  write_through(attempt, std::move(lock));
}

// Not awaited: durable with the next write, unless an observer hears of it or all is written at
// once.
Result<CheckpointId> Run::checkpoint(int attempt, std::string_view label, bool awaited) {
  TRIAGE_TRYV(check_size(label, longest_label, "a checkpoint's label"));
  CheckpointId made{id(), 0};
  {
    Lock lock(mutex_);
    if (is_late(attempt)) return ended_attempt();
    RunData& data = made_data();
    make_room();
    Record record = data.journal.label_checkpoint(std::string(label), core_.clock->wall_now());
    made.sequence = record.seq();
    enqueue(std::move(record));
  }
  const bool at_once = observer() != nullptr || core_.options.write_mode == WriteMode::immediate;
  if (!awaited && !at_once) return outcome::success(std::move(made));
  if (Result<void> durable = drain_strictly(made.sequence); !durable) {
    const Lock lock(mutex_);
    enqueue(data_->journal.add(RecordKind::checkpoint_labelled, core_.clock->wall_now(),
                               Json{{"label", label}, {"withdrawn", true}}));
    return std::move(durable).error();
  }
  emit(EventKind::checkpoint_labelled,
       {.attempt = attempt, .text = label, .number = made.sequence});
  return outcome::success(std::move(made));
}

Error Run::report(int attempt, Failure&& failure) {
  Error error(std::move(failure));
  const std::scoped_lock lock(mutex_);
  if (!is_late(attempt)) made_data().attempt.reported = error.reported();
  return error;
}

// The callable returned an Error: one made by report(), its own, or a nested agent's.
void Run::report_error(int attempt, Error&& error) {
  const std::scoped_lock lock(mutex_);
  if (is_late(attempt)) return;
  RunData& data = made_data();
  note_child(error.suspension());
  data.stick_to_doubt(error);
  if (error.failure()) {
    data.attempt.child = error.failure();
    data.attempt.child_at = data.journal.last();
  }
  data.attempt.reported = reported_by(std::move(error));
}

}  // namespace triage::inline v0_1::detail
