// SPDX-License-Identifier: MIT
// Gates and budgets, which are asked before an attempt or a call may start.
#include "base/run_catching.hpp"
#include "run/run.hpp"
#include "triage/detail/later.hpp"
#include "triage/detail/saturate.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

GateAnswer late_pass(Duration wait, std::string_view end, std::string_view why) {
  return {.kind = GateAnswer::Kind::refuse,
          .wait = wait,
          .reason = "gate_wait",
          .message =
              "it could only start in " +
              std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(wait).count()) +
              " ms, after " + std::string(end) + (why.empty() ? "" : ": " + std::string(why))};
}

}  // namespace

// For a call of an attempt: asks until all gates let the request pass. Waits on the injected clock,
// never beyond the end of the run's or the attempt's time.
GateAnswer Run::pass_gates(GateRequest request, Permit& permit) {
  for (;;) {
    GateAnswer answer = core_.gates.enter(request, permit);
    if (answer.kind != GateAnswer::Kind::wait) return answer;
    const TimePoint until = later(now(), answer.wait);
    const auto attempt_ends = attempt_deadline();
    if (attempt_ends && until >= *attempt_ends) {
      return late_pass(answer.wait, the_deadline, answer.message);
    }
    if (const auto ends = time_ends(); ends && until >= *ends) {
      return late_pass(answer.wait, name_of_end(), answer.message);
    }
    emit(EventKind::wait_started, {.number = static_cast<std::uint64_t>(answer.wait.count())});
    const bool woke = rest_until(until);
    emit(EventKind::wait_ended);
    if (!woke) return {.kind = GateAnswer::Kind::refuse, .reason = "cancelled"};
    if (data_ && data_->fenced) return {.kind = GateAnswer::Kind::refuse, .reason = "fenced"};
    request.waited = Duration(saturating_add(request.waited.count(), answer.wait.count()));
  }
}

// The refusal came from this agent's own gate.
Failure Run::refusal(const GateAnswer& answer, const char* what) {
  Failure failure{
      .text = "a gate of this agent refused " + std::string(what) + ": " + answer.message,
      .type = FailureType::external_fault,
      .reason = answer.reason};
  if (answer.wait > Duration::zero()) failure.retry_after = answer.wait;
  return failure;
}

// Before an attempt. The machine decides what to do if a gate asks to wait.
Input Run::enter_gates() {
  const Recovery* const told = data_ ? data_->recovery.get() : nullptr;
  const bool woke = told != nullptr && told->reason == to_string(RunStatus::suspended);
  GateRequest request{.tool = core_.options.name, .retry = attempt_ > 0 && !woke};
  if (data_ && data_->classified_attempt >= 0) {
    request.after = data_->context().classification.type;
    request.after_reason = data_->context().classification.reason;
  }
  Failing* held = data_ ? data_->made_failing.get() : nullptr;
  if (held != nullptr) request.waited = held->situation.gate_waited;
  // Without set-up nothing takes time between looking at the deadline and this.
  const bool just_read = attempt_ == 0 && !data_ && attempt_began_;
  GateAnswer answer = core_.gates.enter(request, *permit_, just_read ? *attempt_began_ : now());
  if (answer.kind == GateAnswer::Kind::wait) {
    Situation& s = made_data().situation();
    s.gate_wait = answer.wait;
    s.gate_waited =
        Duration(saturating_add(s.gate_waited.count(), answer.wait.count()));  // After this wait.
    s.gate_message = std::move(answer.message);
    s.gate_time_left.reset();
    if (const auto latest = time_ends()) s.gate_time_left = *latest - now();
    return Input::held;
  }
  if (held != nullptr) held->situation.gate_waited = Duration::zero();
  return answer.kind == GateAnswer::Kind::pass ? Input::entered : refuse_entry(answer);
}

Input Run::refuse_entry(const GateAnswer& answer) {
  RunData& data = made_data();
  emit(EventKind::gate_refused, {.text = answer.message});
  data.report(refusal(answer, "to start an attempt"));
  data.extras().attempt.broken_return.reset();
  data.attempt.gate_refused = true;
  data.attempt.gate_closed = answer.wait <= Duration::zero();
  data.attempt.child.reset();
  return Input::failed;
}

// The gate would only admit the attempt when the run's time is over.
Input Run::refuse_held() {
  Situation& s = data_->situation();
  s.gate_waited = Duration::zero();
  return refuse_entry(late_pass(s.gate_wait, name_of_end(), s.gate_message));
}

Input Run::wait_at_gate(Duration delay) {
  emit(EventKind::wait_started, {.number = static_cast<std::uint64_t>(delay.count())});
  const bool woke = rest_until(after(delay));
  emit(EventKind::wait_ended);
  if (data_ && data_->fenced) return drain();
  return woke ? Input::woke : cancel("the stop token was triggered");
}

// After the attempt: reports to the gates how it went.
void Run::leave_attempt(bool succeeded, std::optional<TimePoint> ended) {
  if (permit_ == nullptr) return;
  if (succeeded) {
    permit_->report({}, ended ? *ended : now());
  } else {
    const Classification& found = data_->context().classification;
    permit_->failed(found.type, found.reason, found.retry_after);
  }
}

Result<Permit> Run::enter_call(int attempt, std::string_view tool, std::string_view endpoint,
                               bool retry) {
  if (const Lock lock(mutex_); is_late(attempt)) return ended_attempt();
  Permit permit;
  const GateAnswer answer =
      pass_gates({.tool = tool,
                  .endpoint = endpoint,
                  .retry = retry,
                  .after = retry ? FailureType::external_fault : FailureType::unknown},
                 permit);
  if (answer.kind == GateAnswer::Kind::pass) return outcome::success(std::move(permit));
  if (answer.reason == "cancelled") {
    return Error{Errc::cancelled, "the stop token was triggered while waiting in front of a gate"};
  }
  emit(EventKind::gate_refused, {.text = answer.message});
  return report(attempt, refusal(answer, "a call"));
}

// A budget shared by several agents of the chain, or by parents, is charged once.
Result<Reservation> Run::reserve(int attempt, const Usage& estimate) {
  if (const Lock lock(mutex_); is_late(attempt)) return ended_attempt();
  std::vector<std::shared_ptr<Budget>> budgets;
  for (const Run* run = this;; run = run->options_.parent->run_) {
    budgets.push_back(run->core_.options.budget);
    if (run->options_.parent == nullptr) break;
  }
  auto reserved = Budget::reserve(budgets, estimate);
  if (!reserved) return report_exhausted(attempt, std::move(reserved).error());
  return reserved;
}

Error Run::report_exhausted(int attempt, Error error) {
  if (error.code == Errc::invalid_argument) return error;
  return report(attempt, Failure{.text = std::move(error.detail),
                                 .type = FailureType::quota_exhausted,
                                 .reason = "budget_spent"});
}

}  // namespace triage::inline v0_1::detail
