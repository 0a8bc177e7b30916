// SPDX-License-Identifier: MIT
// How records reach the store: drains, failing stores, and the lease during waits.
#include "base/run_catching.hpp"
#include "run/attempt_pool.hpp"
#include "run/run.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// A retry cannot help.
bool is_final(Errc code) noexcept {
  return code == Errc::fenced || code == Errc::invalid_argument || code == Errc::conflict;
}

std::string warning_of(CheckpointStore& store) {
  try {
    return store.take_warning();
  } catch (...) {
    return "the store threw: " + current_exception_text();
  }
}

// Zero if no other process could take the run over.
Duration renew_interval(const CheckpointStore& store) noexcept {
  const StoreCapabilities can = store.capabilities();
  return can.shared_by_processes ? Duration(can.renew_every) : Duration::zero();
}

Error taken_over(const RunId& run) {
  return {Errc::fenced, "another owner has taken run \"" + run + "\" over"};
}

}  // namespace

bool Run::fails_with_store() const noexcept {
  const AgentOptions& agent = core_.options;
  if (agent.on_store_error != OnStoreError::by_default) {
    return agent.on_store_error == OnStoreError::fail;
  }
  return agent.write_mode == WriteMode::immediate;
}

void Run::note_fenced() {
  const Lock lock(mutex_);
  data_->fenced = true;
  data_->started = false;  // No longer ours to release.
}

std::optional<Error> Run::refused_record() const {
  const Lock lock(mutex_);
  return data_->refused;
}

// The store will never take the oldest pending record. The run fails, and the records of its end
// must not be stuck behind that one.
void Run::give_up_refused(Error why) {
  const Lock lock(mutex_);
  RunData& data = *data_;
  if (data.writer.pending.empty()) return;
  data.writer.pending.clear();
  data.writer.lost = false;
  const Json gap{
      {"first", data.writer.durable + 1}, {"last", data.journal.last()}, {"attempts", attempt_}};
  enqueue(data.journal.add(RecordKind::gap, core_.clock->wall_now(), gap));
  if (!data.refused) data.refused = std::move(why);
}

Result<void> Run::write() {
  RunData& data = *data_;
  if (data.fenced) return taken_over(id());
  if (!data.started) {
    TRIAGE_TRYV(start_in_store());
  }
  Result<void> drained = data.store->queue().drain(data.writer);
  if (drained) return drained;
  if (drained.error().code == Errc::fenced) note_fenced();
  if (drained.error().code == Errc::invalid_argument) give_up_refused(drained.error());
  return drained;
}

Result<void> Run::flush() {
  TRIAGE_TRYV(write());
  if (auto refused = refused_record()) return *std::move(refused);
  return outcome::success();
}

Result<void> Run::drain_strictly(Sequence at) {
  if (!has_store()) return outcome::success();
  const std::scoped_lock flushing(data_->flushing);
  TRIAGE_TRYV(flush());
  const Lock lock(mutex_);
  if (at == 0 || at > data_->dropped) return outcome::success();
  return Error{Errc::io, "record " + std::to_string(at) +
                             " was given up, because the store failed for too long"};
}

Result<void> Run::flush_noticing() {
  RunData& data = *data_;
  std::unique_lock flushing(data.flushing);
  Result<void> flushed = flush();
  const bool was_detached = data.detached.exchange(flushed.has_error());
  flushing.unlock();
  if (flushed) {
    if (was_detached) emit(EventKind::store_attached);
    emit(EventKind::queue_drained, {.number = data.writer.durable.load()});
    if (const std::string warning = warning_of(*data.store); !warning.empty()) {
      emit(EventKind::store_warning, {.text = warning});
    }
  } else if (!was_detached) {
    tell_detached(flushed.error());
  }
  return flushed;
}

void Run::tell_detached(const Error& failure) {
  {
    const std::scoped_lock lock(mutex_);
    data_->new_notes.push_back("the store failed: " + failure.detail);
  }
  emit(EventKind::store_detached, {.error = &failure});
}

void Run::notice_failure(const Error& failure) {
  if (!data_->detached.exchange(true)) tell_detached(failure);
}

Result<void> Run::drain_or_degrade() {
  if (!has_store()) return outcome::success();
  Result<void> flushed = flush_noticing();
  if (!flushed && (is_final(flushed.error().code) || fails_with_store())) return flushed;
  return outcome::success();
}

// For an error that ends the run, perhaps before its attempt's failure was classified.
void Run::name_failure(Error& error) {
  const std::string& failure = data_->failure().text;
  if (failure.empty() || failure == error.detail) return;  // It may be the store's own.
  if (data_->classified_attempt != attempt_) {
    data_->context().classification = {};
    complete_context();
  }
  error.detail += " (while handling this failure of the agent: " + data_->failure().text + ")";
}

Input Run::drain() {
  Result<void> drained = drain_or_degrade();
  // The end of a run is worth a second try: perhaps only the reply was lost.
  const bool ended = data_->writer.status != RunStatus::running;
  if (ended && data_->detached && (drained || !is_final(drained.error().code))) {
    drained = drain_or_degrade();
  }
  if (drained) return Input::drained;
  Error& error = drained.error();
  // Whether it has finished is only decided once everything possible is stored.
  const bool finished = data_->writer.status == RunStatus::finished && !is_final(error.code);
  if (!data_->outcome && !finished) {
    name_failure(error);
    data_->outcome = std::make_unique<Error>(std::move(error));
  }
  return Input::broken;
}

// Records an end for a run that broke off because of its store, and another one for a run that
// finished after a record was refused.
Result<void> Run::store_end() {
  if (!has_store() || data_->fenced) return outcome::success();
  RunData& data = *data_;
  const RunStatus status = data.writer.status;
  const bool broken = data.outcome && (status == RunStatus::running || refused_record()) &&
                      status != RunStatus::failed;
  if (!broken && !data.detached) return outcome::success();
  if (broken) end_in_store(RunStatus::failed, Json{{"detail", data.outcome->detail}});
  const std::scoped_lock flushing(data.flushing);
  Result<void> stored = write();
  data.detached = stored.has_error();
  return stored;
}

// Cancellations and library errors are not replaced: what is stored of such runs is correct and can
// be continued. Nor is an effect in doubt, which matters most.
void Run::tell_unstored(const Error& why) {
  Outcome& outcome = data_->outcome;
  if (data_->suspension) return;
  if (!outcome) {
    outcome = std::make_unique<Error>(
        why.code, "the run has finished, but its end could not be stored: " + why.detail);
    UnstoredEnd::announce(*outcome);
  } else if (outcome->code == Errc::escalated || outcome->code == Errc::aborted) {
    outcome->detail = "the run's end could not be stored: " + why.detail + " (it " +
                      (outcome->code == Errc::aborted ? "was aborted" : "escalated") + ": " +
                      outcome->detail + ")";
    outcome->code = why.code;
  }
}

// --- Waiting.

Result<void> Run::keep_lease() {
  if (!has_store()) return outcome::success();
  RunData& data = *data_;
  const Duration every = renew_interval(*data.store);
  if (every <= Duration::zero()) return outcome::success();
  const TimePoint instant = now();
  Lease lease;
  TimePoint before;
  {
    const Lock lock(mutex_);
    if (data.fenced) return taken_over(id());
    if (!data.started) return outcome::success();
    // Taking it renewed it. What was recorded since may be long ago.
    before = data.renewed.value_or(data.started_at.value_or(instant - every));
    if (instant - before < every) return outcome::success();
    data.renewed = instant;
    lease = data.writer.lease;
  }
  Result<void> renewed = run_catching([&] { return data.store->renew(lease); });
  if (!renewed && renewed.error().code == Errc::fenced) {
    note_fenced();
  } else if (!renewed) {
    const Lock lock(mutex_);
    if (data.renewed == instant) data.renewed = before;  // The next call tries again.
  }
  return renewed;
}

Result<void> Run::keep_lease(int attempt) {
  {
    const Lock lock(mutex_);
    if (is_late(attempt)) return ended_attempt();
  }
  return keep_lease();
}

bool Run::rest_until(TimePoint until, bool even_if_stopped) {
  static_cast<void>(keep_lease());
  if (data_ && data_->fenced) return true;  // As below: nothing is left to wait for.
  const std::stop_token stop = even_if_stopped ? std::stop_token() : attempt_stop_token();
  for (;;) {
    const bool leased = has_store() && data_->started;
    const Duration every = leased ? renew_interval(*data_->store) : Duration::zero();
    const TimePoint instant = now();
    const bool last = every <= Duration::zero() || until - instant <= every;
    if (!core_.clock->sleep_until(last ? until : instant + every, stop)) {
      return false;
    }
    static_cast<void>(keep_lease());
    if (last || (data_ && data_->fenced)) return true;  // The lease is lost, or the wait is over.
  }
}

// --- How a run ends.

void Run::record_result(bool degraded) {
  if (!has_store()) return;
  Json fields{{"degraded", degraded}};
  try {
    Json result;
    if (call_.table->result_json(call_.frame, result)) {
      if (const auto storable = check_json(result, "the agent's result"); storable) {
        fields["result"] = std::move(result);
      } else {
        fields["problem"] = storable.error().detail;
      }
    }
  } catch (...) {
    fields["problem"] = "the result's conversion to JSON threw: " + current_exception_text();
  }
  record_fact(RecordKind::finished, std::move(fields), RunStatus::finished);
}

void Run::end_in_store(RunStatus status, Json fields, bool uncounted) {
  if (!has_store()) return;
  if (uncounted) fields["uncounted"] = true;
  fields["status"] = to_string(status);
  const Failing* failing = data_->made_failing.get();
  fields["type"] = to_string(failing != nullptr ? failing->context.type() : FailureType::unknown);
  record_fact(RecordKind::stopped, std::move(fields), status);
}

}  // namespace triage::inline v0_1::detail
