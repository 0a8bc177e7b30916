// SPDX-License-Identifier: MIT
#include "run.hpp"

#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

const std::string& Event::run_id() const { return run->id(); }

}  // namespace triage::inline v0_1

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_label = 256;

}  // namespace

void Run::take_from_parent() {
  const Run& parent = *options_.parent->run_;
  if (parent.deadline_ && (!deadline_ || *parent.deadline_ < *deadline_)) {
    deadline_ = parent.deadline_;
  }
  if (!stop_->stop_possible()) stop_ = parent.stop_;
}

void Run::leave_store() {
  if (!body_->store) return;
  body_->store->queue().remove(body_->writer);
  if (body_->started) static_cast<void>(body_->store->release(body_->writer.lease));
}

const RunId& Run::id() {
  std::call_once(id_made_, [this] {
    id_ = !options_.run_id.empty() ? options_.run_id
                                   : make_run_id(core_.clock->wall_now(), *core_.random);
  });
  return id_;
}

void Run::adopt(std::unique_ptr<RunBody> body, int attempts) {
  body_ = std::move(body);
  body_->writer.mutex = &mutex_;
  attempt_ = attempts;
  know_start();
}

RunBody& Run::body() {
  if (!body_) [[unlikely]] {
    body_ = std::make_unique<RunBody>();
    body_->journal = Journal({}, options_.auto_checkpoint.value_or(core_.options.auto_checkpoint));
  }
  return *body_;
}

void Run::know_start() {
  RunBody& b = body();
  if (!b.started_at_known) {
    b.started_at = now();
    b.started_at_known = true;
  }
}

void Run::emit(EventKind kind, Event event) {
  if (observer_ == nullptr) return;
  event.kind = kind;
  event.attempt = attempt_;
  event.run = this;
  try {
    observer_->on_event(event);
  } catch (...) {
    // An observer must not change the run it looks at; the failure's notes say that it threw.
    const std::scoped_lock lock(mutex_);
    if (body_) body_->context.notes.emplace_back("the observer threw an exception");
  }
}

void Run::emit(EventKind kind) { emit(kind, Event{}); }

void Run::note(std::string text) {
  {
    const std::scoped_lock lock(mutex_);
    body().context.notes.push_back(text);
  }
  emit(EventKind::callback_failed, {.text = text});
}

// --- The store.

Record Run::run_started() {
  RunBody& b = body();
  Json fields{{"agent", core_.options.name},
              {"version", core_.options.version},
              {"fingerprint", core_.fingerprint},
              {"auto_checkpoint", b.journal.auto_checkpoint()}};
  if (call_.table->task_json(call_.frame, b.task)) fields["task"] = b.task;
  if (!options_.label.empty()) fields["label"] = options_.label;
  if (options_.parent != nullptr) {
    fields["parent"] = options_.parent->run_id();
    fields["parent_attempt"] = options_.parent->number();
  }
  return b.journal.add(RecordKind::run_started, core_.clock->wall_now(), std::move(fields));
}

Result<void> Run::set_up(bool* recorded) {
  if (options_.limits) {
    TRIAGE_TRYV(check_limits(*options_.limits));
  }
  if (!options_.run_id.empty()) {
    TRIAGE_TRYV(check_run_id(options_.run_id));
  }
  if (options_.label.size() > longest_label) {
    return Error{Errc::invalid_argument, "the run's label has " +
                                             std::to_string(options_.label.size()) +
                                             " bytes; allowed are 0 to 256"};
  }
  RunBody& b = body();
  know_start();
  b.store = options_.store ? options_.store : core_.options.store;
  if (!b.store) return outcome::success();
  b.journal.set_run(id());
  b.writer.mutex = &mutex_;
  b.writer.background = core_.options.write_mode == WriteMode::background;
  Json task;
  if (call_.table->task_json(call_.frame, task)) {
    TRIAGE_TRYV(check_json(task, "the task"));
  }
  enqueue(run_started());
  add_record(RecordKind::attempt_started, Json{{"number", 1}});
  Result<void> started = start_in_store();
  if (started) return outcome::success();
  const Errc code = started.error().code;
  if (code == Errc::conflict) {
    const Result<RunInfo> existing = b.store->run(id());
    if (!existing) return existing.error();
    b.store.reset();  // Whatever is there is not ours.
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
  const bool temporary = code == Errc::io || code == Errc::busy;
  if (!temporary || core_.options.on_store_error == OnStoreError::fail) {
    b.store.reset();
    return std::move(started).error();
  }
  b.detached = true;
  b.writer.failure = started.error();
  b.context.notes.push_back("the store failed at the start: " + started.error().detail);
  emit(EventKind::store_detached, {.error = &started.error()});
  return outcome::success();
}

Result<void> Run::start_in_store() {
  RunBody& b = *body_;
  const RunInfo info{.id = id(),
                     .agent = core_.options.name,
                     .label = options_.label,
                     .parent = options_.parent != nullptr ? options_.parent->run_id() : RunId(),
                     .status = RunStatus::running,
                     .started = core_.clock->wall_now(),
                     .updated = core_.clock->wall_now()};
  std::vector<Record> records;
  {
    const std::scoped_lock lock(mutex_);
    records = b.writer.pending;
  }
  TRIAGE_TRY(lease, b.store->start(info, records));
  const std::scoped_lock lock(mutex_);
  b.writer.lease = std::move(lease);
  b.writer.pending.erase(b.writer.pending.begin(),
                         b.writer.pending.begin() + static_cast<std::ptrdiff_t>(records.size()));
  if (!records.empty()) b.writer.durable = records.back().seq();
  b.writer.failure.reset();
  b.started = true;
  return outcome::success();
}

void Run::add_record(RecordKind kind, Json fields) {
  RunBody& b = body();
  if (b.store) enqueue(b.journal.add(kind, core_.clock->wall_now(), std::move(fields)));
}

void Run::enqueue(Record record) {
  RunBody& b = *body_;
  if (!b.store) return;
  RunWriter& writer = b.writer;
  if (writer.failure && writer.pending.size() >= core_.options.queue_capacity) {
    // The store has been away for too long: a gap record will say what is missing.
    if (!b.lost_from) b.lost_from = writer.pending.front().seq();
    writer.pending.clear();
  }
  if (!b.started) {
    writer.queued = record.seq();
    writer.pending.push_back(std::move(record));
    return;
  }
  b.store->queue().enqueue(writer, std::move(record));
}

void Run::report_lost() {
  RunBody& b = *body_;
  const std::scoped_lock lock(mutex_);
  if (!b.lost_from) return;
  b.writer.pending.clear();
  const Sequence last = b.journal.last();
  enqueue(b.journal.add(RecordKind::gap, core_.clock->wall_now(),
                        Json{{"first", *b.lost_from}, {"last", last}}));
  enqueue(b.journal.snapshot_state(b.journal.state().json(), false, core_.clock->wall_now()));
}

Result<void> Run::flush() {
  RunBody& b = *body_;
  report_lost();
  if (!b.started) {
    TRIAGE_TRYV(start_in_store());
  }
  TRIAGE_TRYV(b.store->queue().drain(b.writer));
  b.lost_from.reset();
  return outcome::success();
}

Input Run::drain() {
  if (!has_store()) return Input::drained;
  RunBody& b = *body_;
  const Result<void> flushed = flush();
  if (flushed) {
    if (b.detached) {
      b.detached = false;
      emit(EventKind::store_attached);
    }
    emit(EventKind::queue_drained, {.number = b.writer.durable.load()});
    return Input::drained;
  }
  const Error& error = flushed.error();
  const bool fatal =
      error.code == Errc::fenced || core_.options.on_store_error == OnStoreError::fail;
  if (!b.detached) {
    b.detached = true;
    b.context.notes.push_back("the store failed: " + error.detail);
    emit(EventKind::store_detached, {.error = &error});
  }
  if (!fatal) return Input::drained;
  if (error.code == Errc::fenced) b.started = false;  // Not ours to release any more.
  if (!outcome_) {
    std::string detail = error.detail;
    if (!b.failure.text.empty()) {
      detail += " (while handling this failure of the agent: " + b.failure.text + ")";
    }
    outcome_ = std::make_unique<Error>(error.code, std::move(detail),
                                       std::make_shared<const FailureContext>(b.context));
  }
  return Input::broken;
}

Result<void> Run::drain_strictly() {
  if (!has_store()) return outcome::success();
  return flush();
}

}  // namespace triage::inline v0_1::detail
