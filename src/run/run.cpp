// SPDX-License-Identifier: MIT
#include "run/run.hpp"

#include "base/may_pass.hpp"
#include "base/run_catching.hpp"
#include "run/terms.hpp"
#include "storage/run_keys.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1 {

const std::string& Event::run_id() const { return run->id(); }

}  // namespace triage::inline v0_1

namespace triage::inline v0_1::detail {

namespace {

constexpr std::string_view observer_threw = "the observer threw an exception";

}  // namespace

std::uint64_t start_nonce() { return real_random()->next(); }

const std::stop_token& Run::nested_stop_token() const noexcept {
  if (data_ && data_->linked_stop) return data_->linked_stop->token();
  if (options_.stop_token.stop_possible()) return options_.stop_token;
  return options_.parent->run_->stop_token();
}

std::optional<TimePoint> Run::nested_deadline() const noexcept {
  return earlier(options_.deadline, options_.parent->run_->attempt_deadline());
}

std::optional<TimePoint> Run::lasting_deadline() const noexcept {
  const std::optional<TimePoint> own = options_.deadline;
  return options_.parent == nullptr ? own : earlier(own, options_.parent->run_->lasting_deadline());
}

void Run::link_stop_tokens() {
  const Run& parent = *options_.parent->run_;
  const std::stop_token theirs = parent.attempt_stop_token();
  const bool both = options_.stop_token.stop_possible() && theirs.stop_possible();
  if (both || parent.core_.options.attempt_timeout != Duration::zero()) {
    made_data().linked_stop = std::make_unique<LinkedStop>(options_.stop_token, theirs);
  }
}

void Run::tell_activity() const {
  for (const Run* run = this;; run = run->options_.parent->run_) {
    if (run->options_.on_activity) run->options_.on_activity();
    if (run->options_.parent == nullptr) return;
  }
}

void Run::leave_store() {
  if (!has_store()) return;
  data_->store->queue().remove(data_->writer);
  if (data_->started) data_->store->queue().release(std::move(data_->writer.lease));
}

const RunId& Run::id() {
  if (!options_.run_id.empty()) return options_.run_id;
  if (const RunId* made = id_.get()) return *made;
  return id_.offer(std::make_unique<RunId>(make_run_id(core_.clock->wall_now(), *core_.random)));
}

void Run::take_data(std::unique_ptr<RunData> data, int attempts) {
  data_.offer(std::move(data));
  data_->writer.mutex = &mutex_;
  attempt_ = attempts;
  resumed_ = true;
  if (!data_->started_at) data_->started_at = now();
}

Terms Run::terms() const {
  Terms terms{.limits = options_.limits};
  if (const auto until = lasting_deadline()) terms.deadline = wall_time(*core_.clock, *until);
  if (data_ && data_->started_at) terms.elapsed = now() - *data_->started_at;
  return terms;
}

RunData& Run::make_data() {
  auto made =
      std::make_unique<RunData>(options_.auto_checkpoint.value_or(core_.options.auto_checkpoint));
  made->started_at = began_;
  if (attempt_ > 0) made->journal.begin_attempt(attempt_);
  return data_.offer(std::move(made));
}

void Run::deliver(EventKind kind, Event& event) {
  event.kind = kind;
  if (event.attempt == 0) event.attempt = attempt_;
  event.run = this;
  try {
    event.time = core_.clock->wall_now();
    observer()->on_event(event);
  } catch (...) {
    // An observer must not change the run; that it threw is noted with the failure.
    const std::scoped_lock lock(mutex_);
    if (!data_) {
      observer_threw_ = true;
      return;
    }
    auto& notes = data_->new_notes;
    if (std::find(notes.begin(), notes.end(), observer_threw) == notes.end()) {
      notes.emplace_back(observer_threw);
    }
  }
}

void Run::collect_notes() {
  if (!has_store() && observer() == nullptr) return;  // Otherwise there are none.
  std::vector<std::string> collected;
  {
    const std::scoped_lock lock(mutex_);
    collected.swap(data_->new_notes);
    if (std::exchange(observer_threw_, false)) collected.emplace_back(observer_threw);
  }
  auto& notes = data_->context().notes;
  for (std::string& note : collected) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
}

void Run::note(std::string text) {
  made_data().context().notes.push_back(text);
  emit(EventKind::callback_failed, {.text = text});
}

// --- The store.

Result<Record> Run::run_started() {
  RunData& data = made_data();
  Json fields = identity_of(core_);
  fields["auto_checkpoint"] = data.journal.auto_checkpoint();
  try {
    if (call_.table->task_json(call_.frame, data.task)) {
      TRIAGE_TRYV(check_json(data.task, "the task"));
      fields["task"] = data.task;
    }
  } catch (...) {
    return Error{Errc::invalid_argument,
                 "the task's conversion to JSON threw: " + current_exception_text()};
  }
  put_terms(terms(), fields);
  if (!options_.label.empty()) fields["label"] = options_.label;
  if (!options_.run_id.empty()) fields["nonce"] = start_nonce();
  if (options_.parent != nullptr) {
    fields["parent"] = options_.parent->run_id();
    fields["parent_attempt"] = options_.parent->number();
    if (refuses_effects()) fields["refuses_effects"] = true;
  }
  return outcome::success(
      data.journal.add(RecordKind::run_started, core_.clock->wall_now(), std::move(fields)));
}

Result<void> Run::set_up(bool* recorded) {
  if (options_.limits) {
    TRIAGE_TRYV(check_limits(*options_.limits));
  }
  if (!options_.run_id.empty()) {
    TRIAGE_TRYV(check_run_id(options_.run_id));
  }
  TRIAGE_TRYV(check_run_label(options_.label, "the run's label"));
  began_ = now();
  RunData& data = made_data();
  data.started_at = began_;
  data.store = options_.store ? options_.store : core_.options.store;
  if (options_.parent != nullptr && refuses_effects()) {
    const Run& above = *options_.parent->run_;  // A what-if leaves other stores as they are.
    const Lock lock(above.mutex_);
    data.store = above.data_ ? above.data_->store : nullptr;
  }
  if (!data.store) return outcome::success();
  data.writer.mutex = &mutex_;
  data.write_as(core_.options);
  Result<void> started = open_in_store();
  // A generated id stands for no other run's work: seeds that are equal, at equal times, make equal
  // ones.
  constexpr int more_ids = 8;
  for (int made = 0; made < more_ids && !started && started.error().code == Errc::conflict &&
                     options_.run_id.empty();
       ++made) {
    static_cast<void>(id_.take());
    data.opening = 0;
    data.journal = Journal({}, data.journal.auto_checkpoint());
    data.writer.start_over();
    started = open_in_store();
  }
  if (started) return outcome::success();
  const Errc code = started.error().code;
  if (code == Errc::conflict) {
    data.store->queue().retry_releases();
    const Result<RunInfo> existing = run_catching([&] { return data.store->run(id()); });
    data.store.reset();  // The store's run is not ours.
    if (!existing) return existing.error();
    if (options_.run_id.empty()) {
      return Error{Errc::conflict,
                   "the run id \"" + id() +
                       "\" was made by AgentOptions::random, and exists; each process needs random "
                       "numbers of its own"};
    }
    if (existing.value().status == RunStatus::finished) {
      *recorded = true;
      return outcome::success();
    }
    if (existing.value().owned) {
      return Error{Errc::busy, "run \"" + id() + "\" is under way; try again when it has ended"};
    }
    return Error{Errc::conflict, "run \"" + id() + "\" exists and is " +
                                     std::string(to_string(existing.value().status)) +
                                     "; continue it with resume_run or run_or_resume"};
  }
  if (!may_pass(code) || fails_with_store()) {
    data.store.reset();
    return std::move(started).error();
  }
  data.detached = true;
  data.context().notes.push_back("the store failed at the start: " + started.error().detail);
  emit(EventKind::store_detached, {.error = &started.error()});
  return outcome::success();
}

// Records the start and writes it.
Result<void> Run::open_in_store() {
  RunData& data = *data_;
  data.journal.set_run(id());
  TRIAGE_TRY(first, run_started());
  enqueue(std::move(first));
  record_fact(RecordKind::attempt_started, Json{{"number", 1}});
  data.opening = data.writer.pending.size();
  return start_in_store();
}

Result<void> Run::start_in_store() {
  RunData& data = *data_;
  const RunInfo info{.id = id(),
                     .agent = core_.options.name,
                     .label = options_.label,
                     .parent = options_.parent != nullptr ? options_.parent->run_id() : RunId(),
                     .status = RunStatus::running,
                     .started = core_.clock->wall_now(),
                     .updated = core_.clock->wall_now()};
  // Deterministic, so that the store recognises a repeated start whose reply was lost.
  std::vector<Record> records;
  const auto opening = static_cast<std::ptrdiff_t>(data.opening);
  {
    const std::scoped_lock lock(mutex_);
    records.assign(data.writer.pending.begin(), data.writer.pending.begin() + opening);
  }
  Result<Lease> lease = run_catching([&] { return data.store->start(info, records); });
  const std::scoped_lock lock(mutex_);
  RunWriter& writer = data.writer;
  if (!lease) {
    writer.fail(lease.error());
    return std::move(lease).error();
  }
  writer.lease = std::move(lease).value();
  writer.pending.erase(writer.pending.begin(), writer.pending.begin() + opening);
  writer.durable = records.back().seq();
  if (!writer.lost) writer.failure.reset();
  data.started = true;
  return outcome::success();
}

void Run::record_fact(RecordKind kind, Json fields, RunStatus status) {
  if (!has_store()) return;
  const Lock lock(mutex_);
  add_fact(kind, std::move(fields), status);
}

void Run::add_fact(RecordKind kind, Json fields, RunStatus status) {
  make_room();
  enqueue(data_->journal.add(kind, core_.clock->wall_now(), std::move(fields)));
  data_->writer.status = status;
}

void Run::enqueue(Record record) {
  RunData& data = *data_;
  if (!data.store) return;
  RunWriter& writer = data.writer;
  if (!data.started) return writer.keep(std::move(record));
  data.store->queue().enqueue(writer, std::move(record));
}

// The store was unavailable for too long, or memory ran out: drops the queue, except for the start
// of the run, which every fold needs. A gap record says what was lost, and a snapshot restores the
// state. If records are just being written to the store, the gap includes them.
void Run::make_room() {
  RunData& data = *data_;
  RunWriter& writer = data.writer;
  const bool full = writer.failure && writer.pending.size() >= writer.capacity;
  if (!data.store || (!full && !writer.lost)) return;
  const std::size_t kept = data.started || data.fenced ? 0 : data.opening;
  const Sequence first = (kept == 0 ? writer.durable.load() : writer.pending[kept - 1].seq()) + 1;
  writer.pending.erase(writer.pending.begin() + static_cast<std::ptrdiff_t>(kept),
                       writer.pending.end());
  writer.lost = false;
  data.dropped = data.journal.last();
  const Json gap{{"first", first}, {"last", data.dropped}, {"attempts", attempt_}};
  enqueue(data.journal.add(RecordKind::gap, core_.clock->wall_now(), gap));
  enqueue(data.journal.snapshot_state(data.journal.state().json(), false, core_.clock->wall_now()));
}

}  // namespace triage::inline v0_1::detail
