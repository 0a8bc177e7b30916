// SPDX-License-Identifier: MIT
// The blocking driver of the state machine, and the attempts it makes.
#include "triage/detail/run_loop.hpp"

#include "base/error_more.hpp"
#include "base/run_catching.hpp"
#include "run/run.hpp"

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

}  // namespace

RunStatus end_status(Errc code) noexcept {
  switch (code) {
    case Errc::escalated:
    case Errc::in_doubt: return RunStatus::escalated;
    case Errc::aborted: return RunStatus::aborted;
    case Errc::cancelled: return RunStatus::cancelled;
    default: return RunStatus::failed;
  }
}

Outcome run(const AgentCore& core, Call call, bool* degraded) {
  if (!core.plain) [[unlikely]]
    return run(core, call, core.no_options, degraded);
  Run run(core, call, core.no_options);
  Input result = Input::start;
  if (run.just_called(&result)) [[likely]]
    return nullptr;
  Outcome outcome = run.execute(RunMachine::Begins::in_first_attempt, result);
  *degraded = run.degraded();
  return outcome;
}

Outcome run(const AgentCore& core, Call call, const RunOptions& options, bool* degraded) {
  if (core.problem) [[unlikely]]
    return std::make_unique<Error>(*core.problem);
  std::optional<AttemptUse> parent;
  if (options.parent != nullptr && !parent.emplace(*options.parent)) [[unlikely]]
    return std::make_unique<Error>(ended_parent());
  if (options.parent != nullptr) [[unlikely]] {
    if (auto ended = Run::continue_child(core, call, options, degraded)) return std::move(*ended);
  }
  Run run(core, call, options);
  if (run.needs_set_up()) {
    bool recorded = false;
    if (auto ready = run.set_up(&recorded); !ready) {
      return std::make_unique<Error>(std::move(ready).error());
    }
    if (recorded) return recorded_result(core, call, options, degraded);
  }
  Outcome outcome = run.execute(RunMachine::Begins::anew, Input::start);
  *degraded = run.degraded();
  return outcome;
}

Input Run::run_callable(Attempt& attempt) {
  try {
    return call_.table->invoke(call_.frame, attempt) ? Input::succeeded : Input::failed;
  } catch (const AttemptStopped&) {
    const Lock lock(mutex_);
    if (!made_data().attempt.sticky && data_->failure().text.empty()) {
      Failure stopped = data_->failure();
      stopped.text = "the attempt was stopped";  // Thrown by the callable itself.
      data_->report(std::move(stopped));
    }
    return Input::stopped;
  } catch (const Error& error) {
    report_error(attempt.number(), Error(error));  // As if the callable had returned it.
  } catch (const std::exception& exception) {
    capture(exception);
  } catch (...) {
    capture_unknown();
  }
  return Input::failed;
}

inline bool Run::just_called(Input* result) {
  attempt_ = 1;
  open_attempt_.store(1, std::memory_order_relaxed);
  Attempt& attempt = core_.attempts.open(*this, 1);
  *result = run_callable(attempt);
  open_attempt_.store(0, std::memory_order_relaxed);
  if (!data_ && *result == Input::succeeded) [[likely]] {
    core_.attempts.close(attempt);
    return true;
  }
  AttemptPool::wait_for_calls(attempt);
  attempt.next_ = nullptr;
  attempts_ = &attempt;
  *result = settle(*result);
  return false;
}

// The blocking driver: does what the machine asks for and reports the result.
Outcome Run::execute(RunMachine::Begins begins, Input input) {
  RunMachine machine(core_.rules, limits(), has_store(), begins);
  std::optional<Permit> permit;
  if (!core_.gates.empty()) [[unlikely]]
    permit_ = &permit.emplace();
  if (options_.parent != nullptr) link_stop_tokens();
  if (begins != RunMachine::Begins::in_first_attempt && observer() != nullptr) announce_start();
  for (;;) {
    const Next next = machine.next(input);
    switch (next.what) {
      case Do::invoke: input = invoke(); break;
      case Do::drain: input = drain(); break;
      case Do::done: return end();
      case Do::classify:
        input = classify_failure();
        machine.meet(data_->situation());
        break;
      case Do::wait:
        input = machine.phase() == RunMachine::Phase::held ? wait_at_gate(next.delay)
                                                           : wait(next.delay);
        break;
      case Do::finish_undoing:
        input = finish_undoing();
        if (input == Input::done && data_->decided) machine.meet(decided_situation());
        break;
      case Do::check_start: input = check_start(); break;
      case Do::enter_gates:
        input = enter_gates();
        if (input == Input::held) machine.meet(data_->situation());
        break;
      case Do::refuse_entry: input = refuse_held(); break;
      case Do::ask_policy: input = ask_policy(); break;
      case Do::apply:
        take_notes();
        input = apply();
        break;
      default: input = recover(next.what); break;
    }
  }
}

Attempt& Run::open_attempt() {
  Attempt& attempt = core_.attempts.open(*this, attempt_);
  attempt.next_ = attempts_;
  attempts_ = &attempt;
  return attempt;
}

void Run::close_attempts() noexcept {
  while (attempts_ != nullptr) {
    Attempt& attempt = *attempts_;
    attempts_ = attempt.next_;
    core_.attempts.close(attempt);
  }
}

void Run::announce_start() {
  if (!began_) began_ = now();
  if (!resumed_) {
    emit(EventKind::run_started,
         {.text = options_.parent == nullptr ? std::string_view() : options_.parent->run_id()});
  } else {
    const Recovery* recovery = data_->recovery.get();
    emit(EventKind::run_resumed,
         {.text = recovery == nullptr ? std::string_view() : recovery->checkpoint_id,
          .number = data_->damaged_at});
  }
  for (const std::string& warning : core_.warnings) {
    emit(EventKind::policy_warning, {.text = warning});
  }
}

Input Run::cancel(std::string detail, bool stopped_attempt) {
  end_in_store(RunStatus::cancelled, Json{{"detail", detail}}, stopped_attempt);
  made_data().outcome = std::make_unique<Error>(Errc::cancelled, std::move(detail));
  return Input::stopped;
}

Input Run::invoke() {
  if (core_.gates.empty()) {
    if (const auto instead = refuse_to_start()) return *instead;
  } else if (attempt_began_) {
    attempt_began_ = permit_->entered();  // Waiting at the gates was not part of it.
  }
  ++attempt_;
  Attempt& attempt = open_attempt();
  if (data_) [[unlikely]]
    prepare_attempt();
  if (observer() != nullptr) [[unlikely]]
    emit(EventKind::attempt_started);
  open_attempt_.store(attempt_, std::memory_order_relaxed);
  const bool timed = core_.options.attempt_timeout != Duration::zero();
  if (timed) [[unlikely]]
    begin_attempt_time();
  const Input result = run_callable(attempt);
  open_attempt_.store(0, std::memory_order_relaxed);
  AttemptPool::wait_for_calls(attempt);  // An effect on another thread belongs to this attempt.
  const bool over = timed && end_attempt_time();
  std::optional<TimePoint> ended;
  if (attempt_began_ && result == Input::succeeded) [[unlikely]]
    ended = learn_duration();
  if (!data_ && core_.judges_return) [[unlikely]]
    make_data();
  if (!data_) [[likely]] {
    if (observer() != nullptr) [[unlikely]]
      emit(EventKind::attempt_succeeded);
    if (permit_ != nullptr) [[unlikely]]
      leave_attempt(true, ended);
    return result;
  }
  end_run_time();
  return settle(result, over);
}

void Run::prepare_attempt() {
  RunData& data = *data_;
  data.begin_attempt();
  // Notes taken during set-up belong to the first failure.
  if (data.classified_attempt >= 0) {
    collect_notes();
    data.context().notes.clear();
  }
  if (data.journal.attempts() >= attempt_) return;
  if (data.store) {
    record_fact(RecordKind::attempt_started, Json{{"number", attempt_}});
  } else {
    data.journal.begin_attempt(attempt_);
  }
}

// What the end of an attempt means, considering sticky errors and cancellation.
Input Run::settle(Input result, bool out_of_time) {
  {
    const Lock lock(mutex_);  // Waits for threads that are still recording.
    data_->journal.end_checkpoint();
  }
  const bool failed = result == Input::failed;
  std::optional<Error>& sticky = data_->attempt.sticky;
  const bool stopped = data_->attempt.stopped || result == Input::stopped;
  if (stopped) result = Input::failed;  // Even if swallowed.
  if (result == Input::succeeded && !sticky && judges_return()) result = judge_return();
  if (!sticky && has_store()) sticky = refused_record();
  const RunExtras* const extras = data_->made_extras.get();
  const bool waits = sticky && sticky->code == Errc::suspended && extras != nullptr &&
                     !extras->attempt.waits.empty();
  if (failed && waits &&
      std::all_of(extras->attempt.waits.begin(), extras->attempt.waits.end(),
                  [](const AskedWait& wait) { return wait.beside; })) {
    sticky.reset();  // Another thread's wait does not hide how the callable failed.
  }
  if (sticky) {
    if (waits) return suspend_attempt();
    give_back_permit();
    const std::string message = sticky->message();
    emit(EventKind::attempt_failed, {.error = &*sticky, .text = message});
    if (sticky->code == Errc::in_doubt && core_.options.hooks.on_escalate) {
      data_->report(
          {.text = message, .type = FailureType::unknown, .reason = std::string(effect_in_doubt)});
      data_->attempt.child.reset();
      return Input::failed;  // The hook is asked first.
    }
    Error error = *sticky;
    if (failed) name_failure(error);
    end_in_store(end_status(error.code),
                 Json{{"detail", error.message()}, {"error", to_string(error.code)}},
                 error.code == Errc::in_doubt);
    data_->outcome = std::make_unique<Error>(std::move(error));
    return Input::stopped;
  }
  if (result == Input::failed && child_waits() && !stop_token().stop_requested()) {
    return suspend_attempt();
  }
  if (result == Input::succeeded) {
    emit(EventKind::attempt_succeeded);
    leave_attempt(true);
    record_result(false);
    return Input::succeeded;
  }
  if (out_of_time && !stop_token().stop_requested()) blame_attempt_time();
  emit(EventKind::attempt_failed, {.text = data_->failure().text});
  if (stop_token().stop_requested()) {
    give_back_permit();
    return cancel("the stop token was triggered", true);
  }
  return result;
}

TimePoint Run::after(Duration delay) const {
  const TimePoint instant = now();
  return delay >= TimePoint::max() - instant ? TimePoint::max() : instant + delay;
}

Input Run::wait(Duration delay) {
  const TimePoint until = after(delay);
  const auto left = static_cast<std::uint64_t>(std::max<Duration::rep>(0, (until - now()).count()));
  emit(EventKind::wait_started, {.failure = &data_->context(), .number = left});
  if (drain() == Input::broken) return Input::broken;  // Whoever waits may be killed meanwhile.
  const bool woke = rest_until(until);
  emit(EventKind::wait_ended);
  if (data_->fenced) return drain();
  if (woke) return Input::woke;
  return cancel("the stop token was triggered while waiting to try again");
}

std::uint64_t Run::late_calls() const {
  const Lock lock(mutex_);
  return data_->late_calls;
}

Outcome Run::end() {
  close_attempts();
  if (!data_) {
    emit(EventKind::run_finished);
    return nullptr;
  }
  RunData& data = *data_;
  if (const std::uint64_t late = late_calls(); late > 0) {
    emit(EventKind::late_call, {.number = late});
  }
  if (data.suspension) {
    // A token is only returned for a stored suspension.
    if (Result<void> stored = drain_strictly(); !stored) {
      end_in_store(RunStatus::failed, Json{{"detail", stored.error().detail}});
      static_cast<void>(drain_strictly());
      data.suspension.reset();
      data.outcome = std::make_unique<Error>(std::move(stored).error());
    }
  }
  // A caller who names a run must be able to rely on what is stored of it.
  if (Result<void> stored = store_end(); !stored) {
    if (!options_.run_id.empty() || fails_with_store()) tell_unstored(stored.error());
  }
  if (!data.outcome && !data.suspension) {
    if (has_store()) tidy_keys(true);
    emit(EventKind::run_finished, {.number = degraded_ ? 1U : 0U});
    return nullptr;
  }
  if (has_store()) tidy_keys(data.suspension == nullptr);
  std::shared_ptr<const FailureContext> context;
  const bool blameless = data.outcome && (data.outcome->code == Errc::cancelled ||
                                          UnstoredEnd::announced(*data.outcome));
  if (!blameless && (data.classified_attempt >= 0 || !data.failure().text.empty())) {
    if (data.context().run_id.empty() && id_) data.context().run_id = *id_;
    collect_notes();
    context = std::make_shared<const FailureContext>(data.context());
  }
  if (options_.parent != nullptr && context) options_.parent->child_failed(context);
  Outcome outcome = data.suspension ? suspended_outcome(context) : std::move(data.outcome);
  if (options_.parent != nullptr && outcome->suspension()) tell_parent(outcome->suspension());
  if (context && !outcome->failure() && !outcome->suspension()) {
    ErrorFacts::failed(*outcome, context);
  }
  const Error told = ErrorFacts::told(*outcome, context, [](auto t) { return std::string(t); });
  emit(end_event(told.code), {.failure = context.get(), .error = &told, .text = told.message()});
  return outcome;
}

}  // namespace triage::inline v0_1::detail
