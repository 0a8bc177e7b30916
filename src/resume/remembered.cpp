// SPDX-License-Identifier: MIT
// Going on with runs that wait in this process, because no store can keep them.
#include "journal/suspension_json.hpp"
#include "resume/continuation.hpp"
#include "resume/decision_checks.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

// Goes on with a run that waited in this process, with what it had. What the caller gives wins.
static ContinuationPtr go_on_remembered(const AgentCore& core, SuspendedRun waiting,
                                        const RunOptions& options, OutsideDecision decision) {
  ContinuationPtr opened(new Continuation(core));
  opened->options = std::move(waiting.options);
  opened->options.parent = options.parent;
  if (options.deadline) opened->options.deadline = options.deadline;
  if (options.limits) opened->options.limits = options.limits;
  if (options.stop_token.stop_possible()) opened->options.stop_token = options.stop_token;
  opened->body = std::move(waiting.body);
  opened->attempts = waiting.attempts;
  opened->first = Input::decided;
  RunBody& b = *opened->body;
  opened->task = b.task;
  b.started_at = core.clock->now() - waiting.elapsed;
  if (b.store) {
    b.writer.status = RunStatus::running;
    Json fields = resumed_fields(decision);
    Terms terms{.limits = opened->options.limits, .elapsed = waiting.elapsed};
    if (opened->options.deadline)
      terms.deadline = wall_time(*core.clock, *opened->options.deadline);
    put_terms(terms, fields);
    b.writer.pending.push_back(
        b.journal.add(RecordKind::resumed, core.clock->wall_now(), std::move(fields)));
    b.writer.queued = b.journal.last();
  } else if (!decision.child.is_null()) {
    b.journal.decide_awaited(decision.child["run"], decision.child["action"], decision.who);
  }
  RunExtras& extras = b.extras();
  const RecoveryAction::Kind kind = decision.action.kind;
  const bool approves = kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::resume;
  // Only what this suspension asked about, and only if somebody decided.
  const bool asked = std::exchange(extras.asking.by_guard, false);
  if (asked && approves && decision.reason != "due") b.journal.approve(extras.proposed);
  b.decided = std::make_unique<RecoveryAction>(std::move(decision.action));
  extras.decided_by = std::move(decision.who);
  return opened;
}

// A run that waits in this process.
// Whether the run still waits where this token was given out, and is no later run of that id.
static bool stands_at(CheckpointStore& store, const RunInfo& info, Sequence last,
                      const std::string& hash) {
  if (info.last != last) return false;
  const auto reading = shielded([&] { return store.read(info.id, {last, last}); });
  return reading &&
         text_field(newest_body(reading.value(), RecordKind::suspended), "ticket") == hash;
}

Result<ContinuationPtr> open_remembered(const AgentCore& core, const std::string& hash,
                                        RecoveryAction action, const DecideOptions& options) {
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  OutsideDecision decision;
  TRIAGE_TRY(waiting, core.suspended.take(hash, [&](SuspendedRun& run) -> Result<void> {
    TRIAGE_TRYV(check_allowed(action.kind, run.allowed_actions));
    TRIAGE_TRYV(check_not_expired(run.expires, *core.clock));
    TRIAGE_TRYV(check_target(run.body->journal, action));
    const WaitingChild& child = run.body->extras().child;
    decision =
        outside_decision(child.asks ? child.suspension->run_id : RunId(), action, options.who);
    return check_safe(core, *run.body, decision.action);
  }));
  RunBody& body = *waiting.body;
  if (body.store) {
    const RunId& id = waiting.options.run_id;
    body.store->queue().retry_releases();
    auto lease = shielded([&] { return body.store->acquire(id); });
    if (!lease) {
      core.suspended.put_back(hash, std::move(waiting));
      return std::move(lease).error();
    }
    const auto info = shielded([&] { return body.store->run(id); });
    if (!info || !stands_at(*body.store, info.value(), body.journal.last(), hash)) {
      body.store->queue().release(std::move(lease).value());
      if (!info) {
        core.suspended.put_back(hash, std::move(waiting));
        return info.error();
      }
      return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                       std::string(to_string(info.value().status))};
    }
    body.writer.lease = std::move(lease).value();
    body.started = true;
  }
  return outcome::success(
      go_on_remembered(core, std::move(waiting), options.run, std::move(decision)));
}

Result<ContinuationPtr> open_remembered_due(const AgentCore& core, const RunId& id,
                                            const RunOptions& options) {
  if (options.limits) {
    TRIAGE_TRYV(check_limits(*options.limits));
  }
  const auto found = core.suspended.find(id);
  if (!found) return unknown_token();
  RecoveryAction action;
  TRIAGE_TRY(waiting, core.suspended.take(found->hash, [&](SuspendedRun& run) -> Result<void> {
    action = action_when_due(Json{{"allowed_actions", run.allowed_actions}});
    RunBody& body = *run.body;
    if (!body.spent_limit.empty() && reruns(action.kind)) {
      action = RecoveryAction::escalate(body.spent_limit);
    } else if (auto problem = check_safe(core, body, action); !problem) {
      action = RecoveryAction::escalate(std::move(problem).error().detail);
    }
    return outcome::success();
  }));
  return outcome::success(go_on_remembered(core, std::move(waiting), options,
                                           {.action = std::move(action), .reason = "due"}));
}

}  // namespace triage::inline v0_1::detail
