// SPDX-License-Identifier: MIT
// Runs that wait in this process because no store can keep them.
#include "journal/action_json.hpp"
#include "journal/record_body.hpp"
#include "resume/continuation.hpp"
#include "resume/decision_checks.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

// A run that waited in this process, unchanged.
static ContinuationPtr remembered(const AgentCore& core, SuspendedRun waiting,
                                  const RunOptions& options) {
  ContinuationPtr run(new Continuation(core, std::move(waiting.data)));
  run->set_terms(std::move(waiting.options), options, waiting.elapsed);
  run->attempts = waiting.attempts;
  run->task = run->data->task;
  return run;
}

static Result<void> check_not_expired(const SuspendedRun& run, Clock& clock) {
  if (run.data->store) return check_not_expired(run.expires, clock);
  return check_not_expired(run.expires, clock,
                           run.until ? "the run goes on by itself when its time comes"
                                     : "nothing can continue the run, because no store keeps it");
}

// The task's conversion is the user's code, so it is called while nobody is kept waiting. Puts the
// run back if it does not fit.
static Result<void> check_task_of(const AgentCore& core, const std::string& hash,
                                  SuspendedRun& waiting) {
  auto fits = core.task_fits(waiting.data->task);
  if (!fits) core.suspended.put_back(hash, std::move(waiting));
  return fits;
}

// Whether the token's run still waits there, rather than a later run with the same id.
static bool stands_at(CheckpointStore& store, const RunInfo& info, Sequence last,
                      const std::string& hash) {
  if (info.last != last) return false;
  const auto reading = run_catching([&] { return store.read(info.id, {last, last}); });
  return reading &&
         text_field(newest_body(reading.value(), RecordKind::suspended), "ticket") == hash;
}

Result<ContinuationPtr> open_remembered(const AgentCore& core, const std::string& hash,
                                        RecoveryAction action, const Result<void>& fits,
                                        const DecideOptions& options) {
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  Resumption decision;
  TRIAGE_TRY(waiting, core.suspended.take(hash, [&](SuspendedRun& run) -> Result<void> {
    TRIAGE_TRYV(check_allowed(action.kind, run.allowed_actions));
    TRIAGE_TRYV(check_not_expired(run, *core.clock));
    const WaitingChildren& children = run.data->extras().attempt.children;
    decision = decided(children.asks ? children.shown()->run_id : RunId(), action, options.who);
    TRIAGE_TRYV(check_fits(run.data->journal, *decision.action, fits));
    std::optional<TimePoint> until = options.run.deadline;
    if (!until) until = run.options.deadline;
    if (until) {
      TRIAGE_TRYV(
          check_in_time(*decision.action, wall_time(*core.clock, *until), core.clock->wall_now()));
    }
    return check_safe(core, *run.data, *decision.action);
  }));
  TRIAGE_TRYV(check_task_of(core, hash, waiting));
  RunData& data = *waiting.data;
  if (data.store) {
    const RunId& id = waiting.options.run_id;
    data.store->queue().retry_releases();
    auto lease = run_catching([&] { return data.store->acquire(id); });
    if (!lease) {
      core.suspended.put_back(hash, std::move(waiting));
      return std::move(lease).error();
    }
    const auto info = run_catching([&] { return data.store->run(id); });
    if (!info || !stands_at(*data.store, info.value(), data.journal.last(), hash)) {
      data.store->queue().release(std::move(lease).value());
      if (!info) {
        core.suspended.put_back(hash, std::move(waiting));
        return info.error();
      }
      return Error{Errc::conflict, "run \"" + id + "\" went on without this decision and is " +
                                       std::string(to_string(info.value().status))};
    }
    data.writer.lease = std::move(lease).value();
    data.started = true;
  }
  return restore(remembered(core, std::move(waiting), options.run), std::move(decision));
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
    RunData& data = *run.data;
    if (!data.situation().spent_limit.empty() && reruns(action.kind)) {
      action = RecoveryAction::escalate(data.situation().spent_limit);
    } else if (auto problem = check_safe(core, data, action); !problem) {
      action = RecoveryAction::escalate(std::move(problem).error().detail);
    }
    return outcome::success();
  }));
  TRIAGE_TRYV(check_task_of(core, found->hash, waiting));
  return restore(remembered(core, std::move(waiting), options),
                 {.reason = "due", .action = std::move(action)});
}

}  // namespace triage::inline v0_1::detail
