// SPDX-License-Identifier: MIT
#include "triage/attempt.hpp"

#include "run/attempt_pool.hpp"
#include "run/run.hpp"
#include "storage/run_keys.hpp"
#include "triage/detail/cancel_token.hpp"
#include "triage/detail/compact_now.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/store_now.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1 {

using detail::AttemptUse;
using detail::ended_attempt;

const std::string& Attempt::run_id() const {
  static const std::string none;
  const AttemptUse use(*this);
  return use ? use.run().id() : none;
}
const Recovery* Attempt::recovery() const noexcept {
  const AttemptUse use(*this);
  return use ? use.run().recovery(number()) : nullptr;
}
std::stop_token Attempt::stop_token() const {
  if (const AttemptUse use(*this); use) return use.run().timed_stop_token();
  std::stop_source ended;
  ended.request_stop();
  return ended.get_token();
}
std::optional<TimePoint> Attempt::deadline() const {
  const AttemptUse use(*this);
  return use ? use.run().attempt_deadline() : std::nullopt;
}
State Attempt::state() const {
  const AttemptUse use(*this);
  return use ? use.run().state(number()) : State();
}
Trajectory Attempt::trajectory() const {
  const AttemptUse use(*this);
  return use ? use.run().trajectory(number()) : Trajectory();
}

void Attempt::record_step(Step&& step) {
  if (const AttemptUse use(*this); use) use.run().record_step(number(), step, &step);
}

void Attempt::record_step(const Step& step) {
  if (const AttemptUse use(*this); use) use.run().record_step(number(), step, nullptr);
}
void Attempt::record_step(const Step& step, const StepValues& values) {
  if (const AttemptUse use(*this); use) use.run().record_step(number(), step, values);
}
void Attempt::update_state(Json patch) {
  if (const AttemptUse use(*this); use) use.run().update_state(number(), std::move(patch));
}
void Attempt::remove_state(std::string_view key) {
  if (const AttemptUse use(*this); use) use.run().remove_state(number(), key);
}
void Attempt::replace_state(Json state) {
  if (const AttemptUse use(*this); use) use.run().replace_state(number(), std::move(state));
}
void Attempt::record_usage(const Usage& usage) {
  if (const AttemptUse use(*this); use) use.run().record_usage(number(), usage);
}
void Attempt::set_contract(AgentContract contract) {
  if (const AttemptUse use(*this); use) use.run().set_contract(number(), std::move(contract));
}
void Attempt::complete_subgoal(std::string_view name) {
  record_step({.action = "complete subgoal",
               .idempotent = true,
               .metadata = Json{{"completes_subgoal", name}}});
}
Result<CheckpointId> Attempt::checkpoint(std::string_view label) {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  TRIAGE_TRYV(detail::check_own_prefix(label, "a checkpoint's label"));
  return use.run().checkpoint(number(), label);
}
Result<Permit> Attempt::enter(std::string_view tool, std::string_view endpoint, bool retry) {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  return use.run().enter_call(number(), tool, endpoint, retry);
}
Result<Reservation> Attempt::reserve(const Usage& estimate) {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  return use.run().reserve(number(), estimate);
}
Result<void> Attempt::propose_step(const Step& step) {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  return use.run().propose_step(number(), step);
}
// The failure was already reported, or the error ends the run.
void Attempt::give_up(Error error) {
  if (error.code == Errc::escalated) {
    if (const AttemptUse use(*this); use) use.run().note_stopped(number());
    throw AttemptStopped{};
  }
  stop(std::move(error));
}
void Attempt::sleep_until(WallTime when) {
  const AttemptUse use(*this);
  if (!use) throw AttemptStopped{};
  if (auto slept = use.run().sleep_until(number(), when); !slept) {
    give_up(std::move(slept).error());
  }
}
void Attempt::sleep_for(std::string_view name, Duration length) {
  const AttemptUse use(*this);
  if (!use) throw AttemptStopped{};
  if (auto slept = use.run().sleep_for(number(), name, length); !slept) {
    give_up(std::move(slept).error());
  }
}
std::optional<Json> Attempt::wait(std::string_view name, WallTime deadline) {
  const AttemptUse use(*this);
  if (!use) throw AttemptStopped{};
  auto answer = use.run().wait_for_signal(number(), name, deadline);
  if (!answer) give_up(std::move(answer).error());
  return std::move(answer).value();
}
std::optional<Json> Attempt::received(std::string_view name) {
  const AttemptUse use(*this);
  if (!use) throw AttemptStopped{};
  auto answer = use.run().signal_received(number(), name);
  if (!answer) give_up(std::move(answer).error());
  return std::move(answer).value();
}
bool Attempt::can_suspend() const {
  const AttemptUse use(*this);
  return use && use.run().can_suspend(number());
}
Result<void> Attempt::keep_lease() {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  return use.run().keep_lease(number());
}
Error Attempt::fail(Failure failure) {
  const AttemptUse use(*this);
  return use ? use.run().report(number(), std::move(failure)) : ended_attempt();
}
std::optional<Error> Attempt::error() const {
  const AttemptUse use(*this);
  return use ? use.run().sticky(number()) : std::nullopt;
}

Result<Json> Attempt::effect_json(const detail::EffectRequest& request) {
  const AttemptUse use(*this);
  if (!use) return ended_attempt();
  return use.run().effect(number(), request);
}

void Attempt::report_error(Error&& error) {
  if (const AttemptUse use(*this); use) use.run().report_error(number(), std::move(error));
}

void Attempt::child_failed(std::shared_ptr<const FailureContext> failure) {
  if (const AttemptUse use(*this); use) use.run().child_failed(number(), std::move(failure));
}

void Attempt::stop(Error error) {
  if (const AttemptUse use(*this); use) {
    if (use.elsewhere() && !use.run().is_carried() && error.code == Errc::in_doubt) {
      error.detail +=
          "; it was asked for on another thread than the attempt's, where AttemptStopped ends the "
          "process unless a TaskGroup carries it: see try_effect";
    }
    use.run().stick(number(), std::move(error));
  }
  throw AttemptStopped{};
}

namespace detail {

void report_failure(Attempt& attempt, Error&& error) { attempt.report_error(std::move(error)); }

Result<CheckpointId> own_checkpoint(Attempt& attempt, std::string_view label) {
  const AttemptUse use(attempt);
  if (!use) return ended_attempt();
  return use.run().checkpoint(use.number(), label);
}

Result<CheckpointId> own_checkpoint_soon(Attempt& attempt, std::string_view label) {
  const AttemptUse use(attempt);
  if (!use) return ended_attempt();
  return use.run().checkpoint(use.number(), label, false);
}

std::stop_token cancel_token(const Attempt& attempt) {
  if (const AttemptUse use(attempt); use) return use.run().attempt_stop_token();
  return attempt.stop_token();
}

Result<void> store_now(Attempt& attempt) {
  if (const AttemptUse use(attempt); use) return use.run().store_now(use.number());
  return outcome::success();
}

Result<Compaction> compact_now(Attempt& attempt, const CompactionRule& rule) {
  if (const AttemptUse use(attempt); use) return use.run().compact_now(use.number(), rule);
  return ended_attempt();
}

Result<void> forget_checkpoints(Attempt& attempt, std::span<const CheckpointInfo> labelled) {
  if (const AttemptUse use(attempt); use) {
    return use.run().forget_checkpoints(use.number(), labelled);
  }
  return ended_attempt();
}

}  // namespace detail

}  // namespace triage::inline v0_1
