// SPDX-License-Identifier: MIT
// Executes a recovery action: how the next attempt starts, or how the run ends.
#include "base/error_more.hpp"
#include "base/run_catching.hpp"
#include "evidence/findings.hpp"
#include "resume/continuation.hpp"
#include "run/rollback_target.hpp"
#include "run/run.hpp"
#include "triage/detail/call.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

// Adds what the machine notes about the failure.
void Run::take_notes() {
  Situation& s = data_->situation();
  for (std::string& text : s.notes) note(std::move(text));
  s.notes.clear();
}

// Handles the machine's requests after a failure, except the two inputs that every recovery uses.
Input Run::recover(Do what) {
  take_notes();
  switch (what) {
    case Do::tell_failure: return tell_failure();
    case Do::ask_escalation: return ask_escalation();
    case Do::announce: return announce();
    case Do::find_target: return find_target();
    case Do::learn_target: return learn_target();
    case Do::undo: return undo();
    case Do::suspend_wait: return suspend_wait();
    case Do::end_run: return end_run();
    default: return Input::stopped;
  }
}

Input Run::refuse_action(std::string problem) {
  data_->situation().problem = std::move(problem);
  return Input::refused;
}

Input Run::apply() {
  Situation& s = data_->situation();
  switch (s.action.kind) {
    case RecoveryAction::Kind::retry:
    case RecoveryAction::Kind::replan: return start_again(s);
    case RecoveryAction::Kind::rollback: return roll_back(s);
    case RecoveryAction::Kind::resume: return resume(s);
    case RecoveryAction::Kind::suspend: return suspend(s);
    case RecoveryAction::Kind::fallback: return fall_back(s);
    case RecoveryAction::Kind::abort:
    case RecoveryAction::Kind::escalate: break;  // They end the run.
  }
  return Input::stopped;
}

Input Run::end_run() {
  const Situation& s = data_->situation();
  record_once();
  const Errc code = s.ending.code;
  Error error{code, s.ending.detail};
  if (code == Errc::in_doubt && data_->attempt.sticky) {  // It names the effect.
    error = *data_->attempt.sticky;
    error.detail = s.ending.detail;
  } else if (!s.ending.reason.empty()) {
    ErrorFacts::because(error, s.ending.reason);
  }
  end_in_store(end_status(code), Json{{"detail", error.message()}, {"error", to_string(code)}},
               code == Errc::in_doubt);
  data_->outcome = std::make_unique<Error>(std::move(error));
  return Input::done;
}

void Run::record_once() {
  Situation& s = data_->situation();
  if (!std::exchange(s.recorded, true)) record_action(s.action);
}

void Run::record_action(const RecoveryAction& action, std::optional<Sequence> compensates_after,
                        const Json* state) {
  RunData& data = *data_;
  const Classification& why = data.context().classification;
  std::string who =
      data.made_extras ? std::exchange(data.made_extras->decided_by, {}) : std::string();
  if (!data.store) {
    data.journal.take_action(
        {why.type, action.kind, why.reason, std::move(who), data.context().refused});
    if (state != nullptr) data.journal.snapshot_state(*state, true, WallTime());
    return;
  }
  Json fields{{"action", to_string(action.kind)},
              {"type", to_string(why.type)},
              {"reason", why.reason},
              {"text", describe(action)}};
  if (!who.empty()) fields["by"] = std::move(who);
  if (data.context().refused) fields["refused"] = true;
  if (!action.hint.empty()) fields["hint"] = action.hint;
  if (!action.message.empty()) fields["message"] = action.message;
  if (!action.subgoal.empty()) fields["subgoal"] = action.subgoal;
  if (action.delay > Duration::zero()) fields["delay_ns"] = action.delay.count();
  if (compensates_after) {
    fields["compensates_after"] = *compensates_after;
    // Whoever resumes this rollback must not choose the same target again.
    if (action.kind == RecoveryAction::Kind::rollback &&
        action.target.kind == RollbackTarget::Kind::last_good) {
      fields["default"] = true;
    }
  }
  const Lock lock(mutex_);
  add_fact(RecordKind::action_taken, std::move(fields));
  if (state == nullptr) return;
  enqueue(data.journal.snapshot_state(*state, true, core_.clock->wall_now()));
}

void Run::set_recovery(const RecoveryAction& action, std::string checkpoint) {
  RunData& data = *data_;
  const Classification& why = data.context().classification;
  if (!data.recovery) data.recovery = std::make_unique<Recovery>();
  Recovery& told = *data.recovery;  // Every member is set, so nothing of the previous one remains.
  told.action = action.kind;
  told.failure_type = why.type;
  told.reason = why.reason;
  told.hint = action.hint;
  told.subgoal = action.subgoal;
  told.evidence = why.evidence;
  told.checkpoint_id = std::move(checkpoint);
  told.tools = data.context().tools;
  told.contract = data.context().contract;
  data.restored_steps = data.journal.trajectory().size();
}

Input Run::start_again(const Situation& s) {
  const RecoveryAction& action = s.action;
  const bool has_state = action.value && action.value->is_object();
  if (has_state) {
    if (auto storable = check_json(*action.value, "the state to retry from"); !storable) {
      return refuse_action(std::move(storable).error().detail);
    }
  }
  record_action(action, std::nullopt, has_state ? action.value.get() : nullptr);
  data_->rolled_back_step.reset();
  const Sequence start = data_->journal.start_sequence();
  set_recovery(action, start == 0 ? std::string() : to_string(CheckpointId{id(), start}));
  return Input::done;
}

// The step where the attempt failed, possibly later than the step to blame.
std::optional<std::size_t> Run::failed_step() const {
  RunData& data = *data_;
  return last_failed_step({.failure = data.failure(),
                           .trajectory = data.context().trajectory,
                           .restored_steps = data.restored_steps});
}

Sequence Run::target_sequence() const {
  const auto& target = data_->made_failing.get()->situation.target;
  return target ? data_->journal.positions()[*target].seq : 0;
}

Input Run::find_target() {
  Situation& s = data_->situation();
  std::string problem;
  s.target = find_position(data_->journal, id(), s.action.target, &problem);
  if (!s.target && !s.action.target.or_start) return refuse_action(std::move(problem));
  return Input::done;
}

Input Run::learn_target() {
  if (auto known = learn_state_at(target_sequence()); !known) {
    return refuse_action(std::move(known).error().detail);
  }
  return Input::done;
}

Input Run::roll_back(const Situation& s) {
  RunData& data = *data_;
  record_once();
  const bool by_default = s.action.target.kind == RollbackTarget::Kind::last_good;
  const Sequence to = target_sequence();
  data.rolled_back_step = failed_step();
  record_rollback(s.target, by_default);
  std::string checkpoint;
  const Sequence restored = s.target ? to : data.journal.start_sequence();
  if (restored != 0) checkpoint = to_string(CheckpointId{id(), restored});
  RecoveryAction told = s.action;
  if (told.hint.empty()) {
    told.hint = checkpoint.empty() ? "Rolled back to the start of the run."
                                   : "Rolled back to checkpoint " + checkpoint + ".";
  }
  if (data.detached) told.hint += " (Restored from memory: the store is not reachable.)";
  set_recovery(told, checkpoint);
  emit(EventKind::rolled_back, {.text = checkpoint, .number = data.detached ? 1U : 0U});
  return Input::done;
}

Result<void> Run::learn_state_at(Sequence to) {
  if (!has_store()) return outcome::success();
  return learn_state(*data_->store, data_->journal, to);
}

void Run::record_rollback(std::optional<std::size_t> target, bool by_default) {
  RunData& data = *data_;
  const Sequence to = target ? data.journal.positions()[*target].seq : 0;
  if (data.store) {
    const std::size_t steps = target ? data.journal.positions()[*target].steps : 0;
    const Lock lock(mutex_);
    add_fact(RecordKind::rolled_back, Json{{"to", to}, {"steps", steps}, {"default", by_default}});
    // Folding then never crosses the rollback.
    enqueue(
        data.journal.snapshot_state(data.journal.state().json(), false, core_.clock->wall_now()));
  } else if (target) {
    data.journal.rewind(*target);
    if (by_default) data.journal.mark_used(to);
  } else {
    data.journal.start_over();
  }
}

Input Run::resume(const Situation& s) {
  record_action(s.action);
  data_->rolled_back_step = failed_step();
  std::string checkpoint;
  const Sequence latest = data_->journal.latest().info.id.sequence;
  if (latest != 0) checkpoint = to_string(CheckpointId{id(), latest});
  set_recovery(s.action, std::move(checkpoint));
  return Input::done;
}

Input Run::suspend(const Situation& s) {
  if (data_->made_extras) data_->made_extras->attempt.asking.by_guard = s.by_guard;
  record_action(s.action);
  suspend_with(s.action, suspension_fields(s.action));
  return Input::done;
}

// Errors without saying what they are about.
static Result<void> substitute_fits(const CallTable& table, const RecoveryAction& action) {
  if (!action.value) return Error{Errc::invalid_argument, "it has no value"};
  return table.check_result(*action.value);
}

Result<void> check_fallback(const CallTable& table, const RecoveryAction& action) {
  if (action.kind != RecoveryAction::Kind::fallback) return outcome::success();
  Result<void> fits = substitute_fits(table, action);
  if (fits) return fits;
  return Error{Errc::invalid_argument, "fallback is not possible: " + fits.error().detail};
}

Input Run::fall_back(const Situation& s) {
  const RecoveryAction& action = s.action;
  Result<void> fits = substitute_fits(*call_.table, action);
  try {
    if (fits) static_cast<void>(call_.table->put_result(call_.frame, *action.value));
  } catch (...) {
    fits = Error{Errc::invalid_argument, current_exception_text()};
  }
  if (!fits) return refuse_action(std::move(fits).error().detail);
  record_action(action);
  degraded_ = true;
  record_result(true);
  return Input::done;
}

}  // namespace triage::inline v0_1::detail
