// SPDX-License-Identifier: MIT
// The blocking driver of the state machine, and the attempts it makes.
#include "triage/detail/run_loop.hpp"

#include "run.hpp"
#include "shield.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

EventKind end_event(Errc code) noexcept {
  switch (code) {
    case Errc::escalated:
    case Errc::in_doubt: return EventKind::run_escalated;  // A person must find out.
    case Errc::aborted: return EventKind::run_aborted;
    case Errc::suspended: return EventKind::run_suspended;
    case Errc::cancelled: return EventKind::run_cancelled;
    default: return EventKind::run_failed;
  }
}

std::string milliseconds_text(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

RunStatus end_status(Errc code) noexcept {
  switch (code) {
    case Errc::escalated:
    case Errc::in_doubt: return RunStatus::escalated;
    case Errc::aborted: return RunStatus::aborted;
    case Errc::cancelled: return RunStatus::cancelled;
    default: return RunStatus::failed;
  }
}

}  // namespace

Outcome run(const AgentCore& core, Call call, const RunOptions& options, bool* degraded) {
  if (core.problem) [[unlikely]]
    return std::make_unique<Error>(*core.problem);
  Run run(core, call, options);
  if (run.needs_set_up()) {
    bool recorded = false;
    if (auto ready = run.set_up(&recorded); !ready) {
      return std::make_unique<Error>(std::move(ready).error());
    }
    if (recorded) return recorded_result(core, call, options, degraded);
  }
  Outcome outcome = run.drive(Input::start);
  *degraded = run.degraded();
  return outcome;
}

// What most runs do, that is nothing beside one call, is decided here without another call.
Outcome Run::drive(Input input) {
  if (observer_ != nullptr) [[unlikely]]
    announce_start();
  if (resumed_) [[unlikely]]
    input = finish_undoing(input);
  RunMachine machine(*this);
  for (;;) {
    const Next next = machine.next(input);
    switch (next.what) {
      case Next::Do::invoke: input = invoke(); break;
      case Next::Do::drain: input = has_store() ? drain() : Input::drained; break;
      case Next::Do::wait_until: input = wait(next.until); break;
      case Next::Do::done:
        if (!body_ && !outcome_ && observer_ == nullptr) [[likely]]
          return nullptr;
        return end();
    }
  }
}

void Run::announce_start() {
  if (!began_) began_ = now();
  if (!resumed_) {
    emit(EventKind::run_started,
         {.text = options_.parent == nullptr ? std::string_view() : options_.parent->run_id()});
  } else {
    const Recovery* recovery = body_->recovery ? &*body_->recovery : nullptr;
    emit(EventKind::run_resumed,
         {.text = recovery == nullptr ? std::string_view() : recovery->checkpoint_id,
          .number = body_->damaged_at});
  }
  for (const std::string& warning : core_.warnings) {
    emit(EventKind::policy_warning, {.text = warning});
  }
}

// What happens instead of an attempt if the run is cancelled or its deadline has passed.
std::optional<Input> Run::refuse_to_start() {
  if (stop_.stop_requested()) return cancel("the stop token was triggered");
  if (deadline_) {
    const TimePoint instant = now();
    if (!began_) began_ = instant;
    attempt_began_ = instant;
    if (instant >= *deadline_) {
      return too_late_to_start("the deadline had passed before the attempt could begin");
    }
    const Duration expected = expected_duration();
    if (expected > Duration::zero() && expected >= *deadline_ - instant) {
      return too_late_to_start("the attempt could not end before the deadline: it takes some " +
                               milliseconds_text(expected) + ", and " +
                               milliseconds_text(*deadline_ - instant) + " are left");
    }
  }
  return core_.gates.empty() ? std::nullopt : enter_attempt();
}

// Classified and escalated like any failure; the deadline is a limit.
Input Run::too_late_to_start(std::string text) {
  body().failure =
      Failure{.text = std::move(text), .type = FailureType::timeout, .reason = "deadline"};
  body_->child.reset();
  body_->escalation_asked = false;
  body_->no_time = true;
  return Input::failed;
}

Duration Run::expected_duration() const noexcept {
  const Duration learnt(core_.learnt_duration.load(std::memory_order_relaxed));
  return std::max(core_.options.expected_duration, learnt);
}

void Run::learn_duration() noexcept {
  if (!core_.options.learn_duration || !attempt_began_) return;
  const Duration::rep took = (now() - *attempt_began_).count();
  const Duration::rep before = core_.learnt_duration.load(std::memory_order_relaxed);
  core_.learnt_duration.store(before == 0 ? took : before + (took - before) / 8,
                              std::memory_order_relaxed);
}

Input Run::cancel(std::string detail) {
  end_in_store(RunStatus::cancelled, Json{{"detail", detail}});
  outcome_ = std::make_unique<Error>(Errc::cancelled, std::move(detail));
  return Input::stopped;
}

Input Run::invoke() {
  if (guarded_) [[unlikely]] {
    if (const auto instead = refuse_to_start()) return *instead;
  }
  ++attempt_;
  Attempt* attempt = nullptr;
  if (!first_attempt_) {
    attempt = &first_attempt_.emplace(*this, attempt_);
  } else {
    attempt = &more_attempts_.emplace_back(*this, attempt_);
  }
  if (body_) [[unlikely]]
    prepare_attempt();
  if (observer_ != nullptr) [[unlikely]]
    emit(EventKind::attempt_started);
  open_attempt_.store(attempt_, std::memory_order_relaxed);
  const Input result = run_callable(*attempt);
  if (attempt_began_ && result == Input::succeeded) [[unlikely]]
    learn_duration();
  open_attempt_.store(0, std::memory_order_relaxed);
  if (!body_) [[likely]] {
    if (observer_ != nullptr) [[unlikely]]
      emit(EventKind::attempt_succeeded);
    return result;
  }
  return settle(result);
}

// Forgets what the attempt before left behind.
void Run::prepare_attempt() {
  const Lock lock(mutex_);
  body_->failure = {};
  body_->child.reset();
  body_->sticky.reset();
  body_->escalation_asked = false;
  body_->undoing_refused = false;
  body_->no_time = false;
  body_->gate_closed = false;
  // What set-up had to say belongs to the first failure.
  if (body_->classified_attempt >= 0) body_->context.notes.clear();
  if (body_->journal.attempts() < attempt_) {
    if (body_->store) {
      add_record(RecordKind::attempt_started, Json{{"number", attempt_}});
    } else {
      body_->journal.begin_attempt(attempt_);
    }
  }
}

Input Run::run_callable(Attempt& attempt) {
  try {
    return call_.table->invoke(call_.frame, attempt) ? Input::succeeded : Input::failed;
  } catch (const AttemptStopped&) {
    const Lock lock(mutex_);
    if (!body().sticky) body_->failure.text = "the attempt was stopped";  // Thrown by hand.
  } catch (const std::exception& exception) {
    capture(exception);
  } catch (...) {
    capture_unknown();
  }
  return Input::failed;
}

// What the end of an attempt means once its errors and a cancellation are taken into account.
Input Run::settle(Input result) {
  std::optional<Error> sticky;
  {
    const Lock lock(mutex_);
    body_->journal.end_checkpoint();
    sticky = body_->sticky;
  }
  if (sticky) {
    body_->permit = Permit();
    emit(EventKind::attempt_failed, {.error = &*sticky, .text = sticky->detail});
    end_in_store(end_status(sticky->code), Json{{"detail", sticky->detail}});
    outcome_ = std::make_unique<Error>(*std::move(sticky));
    return Input::stopped;
  }
  if (result == Input::succeeded) {
    emit(EventKind::attempt_succeeded);
    leave_attempt(true);
    record_result(false);
    return Input::succeeded;
  }
  emit(EventKind::attempt_failed, {.text = body_->failure.text});
  if (stop_.stop_requested()) {
    body_->permit = Permit();
    return cancel("the stop token was triggered");
  }
  return result;
}

Input Run::wait(TimePoint until) {
  const auto left = static_cast<std::uint64_t>(std::max<Duration::rep>(0, (until - now()).count()));
  emit(EventKind::wait_started, {.failure = &body_->context, .number = left});
  if (drain() == Input::broken) return Input::broken;  // Whoever waits may be killed meanwhile.
  const bool woke = core_.clock->sleep_until(until, stop_);
  emit(EventKind::wait_ended);
  if (woke) return Input::woke;
  return cancel("the stop token was triggered while waiting to try again");
}

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
  const Lock lock(mutex_);
  add_record(RecordKind::finished, std::move(fields));
  body_->writer.status = RunStatus::finished;
}

void Run::end_in_store(RunStatus status, Json fields) {
  if (!has_store()) return;
  const Lock lock(mutex_);
  fields["status"] = to_string(status);
  fields["type"] = to_string(body_->context.type());
  add_record(RecordKind::stopped, std::move(fields));
  body_->writer.status = status;
}

Outcome Run::end() {
  if (!body_ && !outcome_) [[likely]] {
    if (observer_ != nullptr) [[unlikely]]
      emit(EventKind::run_finished);
    return nullptr;
  }
  if (body_ && body_->late_calls > 0) {
    emit(EventKind::late_call, {.number = body_->late_calls});
  }
  if (suspension_) {
    // A token is given out only for what the store has.
    if (Result<void> stored = drain_strictly(); !stored) {
      end_in_store(RunStatus::failed, Json{{"detail", stored.error().detail}});
      suspension_.reset();
      outcome_ = std::make_unique<Error>(std::move(stored).error());
    }
  }
  if (!outcome_ && !suspension_) {
    emit(EventKind::run_finished, {.number = degraded_ ? 1U : 0U});
    return nullptr;
  }
  std::shared_ptr<const FailureContext> context;
  const bool cancelled = outcome_ && outcome_->code == Errc::cancelled;
  if (body_ && !cancelled && (body_->classified_attempt >= 0 || !body_->failure.text.empty())) {
    if (body_->context.run_id.empty() && !id_.empty()) body_->context.run_id = id_;
    context = std::make_shared<const FailureContext>(body_->context);
  }
  if (options_.parent != nullptr && context) options_.parent->child_failed(context);
  if (suspension_) {
    outcome_ = hand_over(context);
  } else if (!outcome_->failure()) {
    *outcome_ = Error(outcome_->code, std::move(outcome_->detail), context);
  }
  // The token of a suspended run is for the caller alone.
  const Error told(outcome_->code, outcome_->detail, context);
  emit(end_event(told.code), {.failure = context.get(), .error = &told, .text = told.detail});
  return std::move(outcome_);
}

// Puts the run aside until somebody decides; only the returned error knows the token.
Outcome Run::hand_over(const std::shared_ptr<const FailureContext>& context) {
  auto suspension =
      std::make_shared<Suspension>(Suspension{.token = {},
                                              .run_id = id(),
                                              .message = suspension_->message,
                                              .allowed_actions = suspension_->allowed_actions,
                                              .until = suspension_->until});
  const std::string message =
      suspension_->message.empty() ? "the run waits for a decision" : suspension_->message;
  SuspendedRun put_aside{.body = std::move(body_),
                         .options = options_,
                         .allowed_actions = suspension_->allowed_actions};
  RunBody& b = *put_aside.body;
  try {
    if (b.task.is_null()) call_.table->task_json(call_.frame, b.task);
  } catch (...) {
    b.task = nullptr;  // decide() will say that the task cannot be restored.
  }
  b.journal.set_run(id());
  if (b.store) {
    b.store->queue().remove(b.writer);
    if (b.started) {
      static_cast<void>(shielded([&] { return b.store->release(b.writer.lease); }));
    }
    b.started = false;
  }
  put_aside.options.run_id = id();
  put_aside.options.parent = nullptr;
  put_aside.attempts = attempt_;
  suspension->token = core_.suspended.add(std::move(put_aside));
  return std::make_unique<Error>(Errc::suspended, message, context, std::move(suspension));
}

}  // namespace triage::inline v0_1::detail
