// SPDX-License-Identifier: MIT
#include "triage/attempt.hpp"

#include "run.hpp"

#include <utility>

namespace triage::inline v0_1 {

const std::string& Attempt::run_id() const { return run_->id(); }
const Recovery* Attempt::recovery() const noexcept { return run_->recovery(number_); }
std::stop_token Attempt::stop_token() const { return run_->stop_token(); }
std::optional<TimePoint> Attempt::deadline() const { return run_->deadline(); }
State Attempt::state() const { return run_->state(number_); }
Trajectory Attempt::trajectory() const { return run_->trajectory(number_); }

void Attempt::record_step(Step&& step) { run_->record_step(number_, std::move(step)); }
void Attempt::update_state(Json patch) { run_->update_state(number_, std::move(patch)); }
void Attempt::remove_state(std::string_view key) { run_->remove_state(number_, key); }
void Attempt::replace_state(Json state) { run_->replace_state(number_, std::move(state)); }
void Attempt::record_usage(const Usage& usage) { run_->record_usage(number_, usage); }
void Attempt::set_contract(AgentContract contract) {
  run_->set_contract(number_, std::move(contract));
}
void Attempt::complete_subgoal(std::string_view name) {
  record_step({.action = "complete subgoal",
               .idempotent = true,
               .metadata = Json{{"completes_subgoal", name}}});
}
Result<CheckpointId> Attempt::checkpoint(std::string_view label) {
  return run_->checkpoint(number_, label);
}
Result<Permit> Attempt::enter(std::string_view tool, std::string_view endpoint, bool retry) {
  return run_->enter_call(number_, tool, endpoint, retry);
}
Result<Reservation> Attempt::reserve(const Usage& estimate) {
  return run_->reserve(number_, estimate);
}
Result<void> Attempt::propose_step(const Step& step) { return run_->propose_step(number_, step); }
// A failure has been reported, or the error ends the run.
void Attempt::give_up(Error error) {
  if (error.code == Errc::escalated) throw AttemptStopped{};
  stop(std::move(error));
}
void Attempt::sleep_until(WallTime when) {
  if (auto slept = run_->sleep_until(number_, when); !slept) give_up(std::move(slept).error());
}
void Attempt::sleep_for(std::string_view name, Duration length) {
  if (auto slept = run_->sleep_for(number_, name, length); !slept) {
    give_up(std::move(slept).error());
  }
}
std::optional<Json> Attempt::wait(std::string_view name, WallTime deadline) {
  auto answer = run_->wait_for_signal(number_, name, deadline);
  if (!answer) give_up(std::move(answer).error());
  return std::move(answer).value();
}
Error Attempt::fail(Failure failure) { return run_->report(number_, std::move(failure)); }
std::optional<Error> Attempt::error() const { return run_->sticky(number_); }

Result<Json> Attempt::effect_json(const detail::EffectRequest& request) {
  return run_->effect(number_, request);
}

void Attempt::child_failed(std::shared_ptr<const FailureContext> failure) {
  run_->child_failed(number_, std::move(failure));
}

void Attempt::stop(Error error) {
  run_->stick(number_, std::move(error));
  throw AttemptStopped{};
}

namespace detail {

void report_failure(Attempt& attempt, Error&& error) {
  attempt.run_->report_error(attempt.number_, std::move(error));
}

}  // namespace detail

}  // namespace triage::inline v0_1
