// SPDX-License-Identifier: MIT
// Carrying out a recovery action: what the next attempt begins with, or how the run ends.
#include "base/shield.hpp"
#include "evidence/findings.hpp"
#include "resume/continuation.hpp"
#include "run/run.hpp"
#include "triage/detail/call.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace triage::inline v0_1::detail {

Decision Run::decided_outside() {
  measure_time();
  return act(*body_->decided);
}

Decision Run::act(const RecoveryAction& action) {
  if (reruns(action.kind) && !too_late(action.delay)) {
    if (const auto aside = suspend_instead(action)) return *aside;
  }
  switch (action.kind) {
    case RecoveryAction::Kind::retry:
    case RecoveryAction::Kind::replan: return start_again(action);
    case RecoveryAction::Kind::rollback: return roll_back(action);
    case RecoveryAction::Kind::resume: return resume(action);
    case RecoveryAction::Kind::suspend: return suspend(action);
    case RecoveryAction::Kind::fallback: return fall_back(action);
    case RecoveryAction::Kind::abort: return abort(action);
    case RecoveryAction::Kind::escalate: return escalate(action);
  }
  return escalate(action);
}

Decision Run::abort(const RecoveryAction& action) {
  std::vector<std::string> failures;
  if (auto doubt = undo(action, 0, core_.options.compensation.on_abort, &failures)) {
    body_->undoing_refused = true;
    return escalate_instead("abort is not possible, nothing was undone: " + *doubt);
  }
  std::string detail = action.message.empty() ? "the policy gives the run up" : action.message;
  for (const std::string& failure : failures) detail += "; " + failure;
  return end_with(Errc::aborted, RunStatus::aborted, std::move(detail));
}

Decision Run::escalate(const RecoveryAction& action) {
  if (in_doubt()) {  // Nothing is undone: see undo().
    record_action(action);
    std::string detail = body_->sticky->detail;
    if (action.message != detail) detail += "; " + action.message;
    return end_with(Errc::in_doubt, RunStatus::escalated, std::move(detail));
  }
  std::string detail = action.message.empty() ? "the policy asks for a person" : action.message;
  std::vector<std::string> failures;
  // What is in doubt for an abort or a rollback that became this escalation is so still.
  const bool wanted = core_.options.compensation.on_escalate && !body_->undoing_refused;
  if (auto doubt = undo(action, 0, wanted, &failures)) {
    record_action(action);
    failures.push_back("nothing was undone: " + *std::move(doubt));
    const std::scoped_lock lock(mutex_);
    body_->context().notes.push_back(failures.back());
  }
  for (const std::string& failure : failures) detail += "; " + failure;
  const std::string& text = body_->context().text;
  const bool told = detail.find(text) != std::string::npos;
  if (!told) detail += "; the failure was: " + text;
  return end_with(Errc::escalated, RunStatus::escalated, std::move(detail));
}

void Run::record_action(const RecoveryAction& action, std::optional<Sequence> compensates_after) {
  RunBody& b = *body_;
  const Classification& why = b.context().classification;
  std::string who = b.made_extras ? std::exchange(b.made_extras->decided_by, {}) : std::string();
  if (!b.store) {
    b.journal.take_action({why.type, action.kind, why.reason, std::move(who)});
    return;
  }
  Json fields{{"action", to_string(action.kind)},
              {"type", to_string(why.type)},
              {"reason", why.reason},
              {"text", describe(action)}};
  if (!who.empty()) fields["by"] = std::move(who);
  if (!action.hint.empty()) fields["hint"] = action.hint;
  if (!action.message.empty()) fields["message"] = action.message;
  if (!action.subgoal.empty()) fields["subgoal"] = action.subgoal;
  if (action.delay > Duration::zero()) fields["delay_ns"] = action.delay.count();
  if (compensates_after) fields["compensates_after"] = *compensates_after;
  record_fact(RecordKind::action_taken, std::move(fields));
}

void Run::set_recovery(const RecoveryAction& action, std::string checkpoint) {
  RunBody& b = *body_;
  const Classification& why = b.context().classification;
  if (!b.recovery) b.recovery = std::make_unique<Recovery>();
  Recovery& told = *b.recovery;  // Every member is set: nothing of the last one survives.
  told.action = action.kind;
  told.failure_type = why.type;
  told.reason = why.reason;
  told.hint = action.hint;
  told.subgoal = action.subgoal;
  told.evidence = why.evidence;
  told.checkpoint_id = std::move(checkpoint);
  told.tools = b.context().tools;
  told.contract = b.context().contract;
  b.restored_steps = b.journal.trajectory().size();
}

// The chosen action cannot be carried out: the failure is escalated, unless on_escalate has a
// better idea and has not been asked yet.
Decision Run::escalate_instead(std::string message) {
  const RecoveryAction action =
      before_escalation(RecoveryAction::escalate(std::move(message)), false);
  announce(action);
  return act(action);
}

Decision Run::start_again(const RecoveryAction& action) {
  if (auto late = too_late(action.delay)) return escalate_instead(*std::move(late));
  if (action.value && action.value->is_object()) {
    if (auto storable = check_json(*action.value, "the state to retry from"); !storable) {
      return escalate_instead("retry is not possible: " + storable.error().detail);
    }
  }
  record_action(action);
  if (action.value && action.value->is_object()) {
    const Lock lock(mutex_);
    enqueue(body_->journal.snapshot_state(*action.value, true, core_.clock->wall_now()));
  }
  body_->rolled_back_step.reset();
  const Sequence start = body_->journal.start_sequence();
  set_recovery(action, start == 0 ? std::string() : to_string(CheckpointId{id(), start}));
  return wait_for(action.delay);
}

// Where the attempt failed, which may be behind the step that is to blame.
std::optional<std::size_t> Run::failed_step() const {
  RunBody& b = *body_;
  return last_failed_step({.failure = b.failure(),
                           .trajectory = b.context().trajectory,
                           .restored_steps = b.restored_steps});
}

Decision Run::roll_back(const RecoveryAction& action) {
  RunBody& b = *body_;
  std::string problem;
  const std::optional<std::size_t> target = find_target(action.target, &problem);
  if (!target && !action.target.or_start) {
    return escalate_instead("rollback is not possible: " + problem);
  }
  if (auto late = too_late(action.delay)) return escalate_instead(*std::move(late));
  const Sequence to = target ? b.journal.positions()[*target].seq : 0;
  if (const auto known = learn_target(to); !known) {
    return escalate_instead("rollback is not possible: " + known.error().detail);
  }
  std::vector<std::string> failures;
  if (auto doubt = undo(action, to, core_.options.compensation.on_rollback, &failures)) {
    b.undoing_refused = true;
    return escalate_instead("rollback is not possible, nothing was undone: " + *doubt);
  }
  const bool by_default = action.target.kind == RollbackTarget::Kind::last_good;
  b.rolled_back_step = failed_step();
  record_rollback(target, by_default);
  std::string checkpoint;
  const Sequence restored = target ? to : b.journal.start_sequence();
  if (restored != 0) checkpoint = to_string(CheckpointId{id(), restored});
  RecoveryAction told = action;
  if (told.hint.empty()) {
    told.hint = checkpoint.empty() ? "Rolled back to the start of the run."
                                   : "Rolled back to checkpoint " + checkpoint + ".";
  }
  if (b.detached) told.hint += " (Restored from memory: the store is not reachable.)";
  set_recovery(told, checkpoint);
  emit(EventKind::rolled_back, {.text = checkpoint, .number = b.detached ? 1U : 0U});
  return wait_for(action.delay);
}

Result<void> Run::learn_target(Sequence to) {
  if (!has_store()) return outcome::success();
  return learn_state(*body_->store, body_->journal, to);
}

void Run::record_rollback(std::optional<std::size_t> target, bool by_default) {
  RunBody& b = *body_;
  const Sequence to = target ? b.journal.positions()[*target].seq : 0;
  if (b.store) {
    const std::size_t steps = target ? b.journal.positions()[*target].steps : 0;
    record_fact(RecordKind::rolled_back,
                Json{{"to", to}, {"steps", steps}, {"default", by_default}});
    record_state();  // No fold has to cross the rollback to know the state.
  } else if (target) {
    b.journal.rewind(*target);
    if (by_default) b.journal.mark_used(to);
  } else {
    b.journal.start_over();
  }
}

// A state that claims what has been undone is no target, whoever names it.
std::optional<std::size_t> Run::find_target(const RollbackTarget& target, std::string* problem) {
  const std::optional<std::size_t> found = find_position(target, problem);
  if (!found || !body_->journal.claims_undone(*found)) return found;
  *problem = "checkpoint " + to_string(body_->journal.info(*found).id) +
             " is behind an effect that has been undone since";
  return std::nullopt;
}

std::optional<std::size_t> Run::find_position(const RollbackTarget& target, std::string* problem) {
  const Journal& journal = body_->journal;
  const auto& branch = journal.branch();
  const auto& positions = journal.positions();
  switch (target.kind) {
    case RollbackTarget::Kind::label: {
      auto found = journal.find_label(target.name);
      if (!found) *problem = "no checkpoint is labelled \"" + printable(target.name) + "\"";
      return found;
    }
    case RollbackTarget::Kind::checkpoint: {
      const auto id = parse_checkpoint_id(target.name);
      std::optional<std::size_t> found;
      if (id && id.value().run == this->id()) {
        found = journal.find(id.value().sequence);
      }
      if (!found) *problem = "this run has no checkpoint \"" + printable(target.name) + "\"";
      return found;
    }
    case RollbackTarget::Kind::latest:
    case RollbackTarget::Kind::back: {
      const auto back = target.kind == RollbackTarget::Kind::latest
                            ? std::size_t{0}
                            : static_cast<std::size_t>(std::max(target.back, 0));
      if (back < branch.size()) return branch[branch.size() - 1 - back];
      *problem = "there are only " + std::to_string(branch.size()) + " checkpoints";
      return std::nullopt;
    }
    case RollbackTarget::Kind::last_good: break;
  }
  for (std::size_t i = branch.size(); i-- > 0;) {
    const Journal::Position& candidate = positions[branch[i]];
    if (!candidate.failed && !journal.rolled_back_to().contains(candidate.seq) &&
        !journal.claims_undone(branch[i])) {
      return branch[i];
    }
  }
  *problem = branch.empty() ? "there is no checkpoint"
                            : "no good checkpoint is left that has not been tried";
  return std::nullopt;
}

Decision Run::resume(const RecoveryAction& action) {
  if (auto late = too_late(action.delay)) return escalate_instead(*std::move(late));
  record_action(action);
  body_->rolled_back_step = failed_step();
  std::string checkpoint;
  const Sequence latest = body_->journal.latest().info.id.sequence;
  if (latest != 0) checkpoint = to_string(CheckpointId{id(), latest});
  set_recovery(action, std::move(checkpoint));
  return wait_for(action.delay);
}

Decision Run::suspend(const RecoveryAction& action) {
  record_action(action);
  suspend_with(action, suspension_fields(action));
  return {.then = Decision::Then::end, .until = {}};
}

Decision Run::fall_back(const RecoveryAction& action) {
  bool adopted = false;
  std::string problem = "the agent's result cannot be made from JSON";
  try {
    if (action.value) require_copyable(*action.value, "the fallback");
    adopted = action.value && call_.table->put_result(call_.frame, *action.value);
  } catch (...) {
    problem = "its value does not convert to the agent's result: " + current_exception_text();
  }
  if (!adopted) return escalate_instead("fallback is not possible: " + problem);
  record_action(action);
  degraded_ = true;
  record_result(true);
  return {.then = Decision::Then::end, .until = {}};
}

Decision Run::end_with(Errc code, RunStatus status, std::string detail) {
  end_in_store(status, Json{{"detail", detail}, {"error", to_string(code)}});
  body_->outcome = std::make_unique<Error>(code, std::move(detail));
  return {.then = Decision::Then::end, .until = {}};
}

std::optional<std::string> Run::too_late(Duration delay) const {
  const auto& remaining = body_->context().remaining;
  if (delay <= Duration::zero() || !remaining || delay < *remaining) return std::nullopt;
  char text[96];
  std::snprintf(text, sizeof text,
                "the next attempt would begin in %.3g s, after the deadline in %.3g s",
                std::chrono::duration<double>(delay).count(),
                std::chrono::duration<double>(*remaining).count());
  return text;
}

Decision Run::wait_for(Duration delay) const {
  if (delay <= Duration::zero()) return {.then = Decision::Then::attempt, .until = {}};
  const TimePoint instant = now();
  const Duration longest = TimePoint::max() - instant;
  return {.then = Decision::Then::wait,
          .until = delay >= longest ? TimePoint::max() : instant + delay};
}

}  // namespace triage::inline v0_1::detail
