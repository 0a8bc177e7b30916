// SPDX-License-Identifier: MIT
// Continuing a run by id: after a crash, after an end without a result, or after it finished.
#include "journal/record_body.hpp"
#include "resume/continuation.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The position to continue from: its sequence, or 0 for the journal's current end.
Result<Sequence> find_start(const Journal& journal, const std::string& from) {
  if (from.empty()) return outcome::success(journal.latest().info.id.sequence);
  std::optional<std::size_t> found = journal.find_label(from);
  const auto id = parse_checkpoint_id(from);
  if (!found && id && id.value().run == journal.run()) found = journal.find(id.value().sequence);
  if (found) {
    TRIAGE_TRYV(check_claims(journal, *found));
    return outcome::success(journal.positions()[*found].seq);
  }
  return Error{Errc::not_found, "run \"" + journal.run() + "\" has no checkpoint \"" +
                                    printable(from) + "\"; give an id (RUN@SEQUENCE) or a label"};
}

// Otherwise a run that takes its process down would never come to its limits.
bool died_at_limit(const Continuation& run) {
  const Limits& limits = run.options.limits ? *run.options.limits : run.core.options.limits;
  const Journal& journal = run.journal();
  const Usage usage = journal.usage();
  return run.reading.info.status == RunStatus::running &&
         (run.attempts - journal.suspended_attempts() >= limits.max_attempts ||
          (limits.max_tokens != 0 && usage.tokens() >= limits.max_tokens) ||
          (limits.max_cost_usd > 0.0 && usage.cost_usd >= limits.max_cost_usd));
}

}  // namespace

Resumption resumed_from(const Journal& journal, Sequence from,
                        const std::shared_ptr<const AgentContract>& contract) {
  Recovery recovery{.action = RecoveryAction::Kind::resume,
                    .failure_type = FailureType::crashed,
                    .reason = "process_died"};
  if (!journal.stopped().is_null()) {
    recovery.failure_type =
        parse_failure_type(text_field(journal.stopped(), "type")).value_or(FailureType::unknown);
    recovery.reason = text_field(journal.stopped(), "status");
  }
  recovery.hint = from == 0 ? "The run goes on from its start."
                            : "The run goes on from checkpoint " +
                                  to_string(CheckpointId{journal.run(), from}) + ".";
  if (from != 0) recovery.checkpoint_id = to_string(CheckpointId{journal.run(), from});
  recovery.contract = contract;
  if (contract) {
    for (const ToolContract& tool : contract->tools) recovery.tools.push_back(tool.name);
  }
  return {.reason = recovery.reason, .from = from, .told = std::move(recovery)};
}

// The recorded result of a run; no lease is needed to read it.
static Result<ContinuationPtr> open_finished(const AgentCore& core, CheckpointStore& store,
                                             const RunId& id, bool accept_changed) {
  TRIAGE_TRY(reading, run_catching([&] { return store.read(id, {}); }));
  TRIAGE_TRY(journal, Journal::fold(reading));
  if (!accept_changed) {
    TRIAGE_TRYV(check_fingerprint(core, journal));
  }
  if (journal.finished().is_null()) {
    return Error{Errc::corrupt, "run \"" + id +
                                    "\" has finished, but its result is lost; a branch from one "
                                    "of its checkpoints (`triage fork`) can get it again"};
  }
  return ContinuationPtr(
      new Continuation(core, journal.start().value("task", Json()), journal.finished()));
}

Result<ContinuationPtr> open_run(const AgentCore& core, const RunId& id,
                                 const ResumeOptions& options) {
  return open_stored(core, id, options, Asked::to_resume);
}

Result<ContinuationPtr> open_stored(const AgentCore& core, const RunId& id,
                                    const ResumeOptions& options, Asked asked,
                                    std::optional<Lease> claimed) {
  if (core.problem) return *core.problem;
  TRIAGE_TRYV(check_run_id(id));
  if (options.run.limits) {
    TRIAGE_TRYV(check_limits(*options.run.limits));
  }
  auto store = store_of(core, options.run);
  if (!store) {
    return Error{Errc::not_found, "run \"" + id + "\" cannot be found: the agent has no store"};
  }
  TRIAGE_TRY(info, run_catching([&] { return store->run(id); }));
  if (info.status == RunStatus::finished && options.from.empty()) {
    TRIAGE_TRY(finished, open_finished(core, *store, id, options.accept_changed));
    finished->options.run_id = id;
    finished->options.parent = options.run.parent;
    return outcome::success(std::move(finished));
  }
  const bool looked = asked == Asked::for_what_fits && !claimed;
  TRIAGE_TRY(run, take_over(core, std::move(store), id, options.run, options.accept_changed,
                            std::move(claimed)));
  if (looked && run->reading.info.status == RunStatus::suspended) {
    run.reset();  // It has just been suspended by the process that had it.
    return open_unless_waiting(core, id, options);
  }
  const Journal& journal = run->journal();
  if (options.from.empty() && !journal.finished().is_null()) {  // It has just finished.
    run->recorded = journal.finished();
    return outcome::success(std::move(run));
  }
  TRIAGE_TRYV(check_ended(*run, options, asked));
  TRIAGE_TRYV(check_task(core, journal));
  TRIAGE_TRYV(check_poison(*run, options.revive));
  const char* died = options.revive ? "revived" : "process_died";
  if (options.from.empty() && !journal.decision().is_null()) {
    Resumption pending = pending_decision(journal, died);
    return restore(std::move(run), std::move(pending));
  }
  if (auto decision = recorded_decision(*run); decision && options.from.empty()) {
    return restore(std::move(run), *std::move(decision));
  }
  if (journal.aborting() && !options.revive) {  // Its process died before it had aborted.
    const Json action = newest_body(run->reading, RecordKind::action_taken);
    return restore(std::move(run), {.reason = died,
                                    .action = RecoveryAction::abort(text_field(action, "message")),
                                    .who = text_field(action, "by")});
  }
  TRIAGE_TRY(from, find_start(journal, options.from));
  if (!options.from.empty()) run->data->chosen_from = from;
  run->data->died_at_limit = !options.revive && options.from.empty() && died_at_limit(*run);
  Resumption from_there = resumed_from(journal, from, core.contract);
  if (options.revive && journal.stopped().is_null()) {
    from_there.reason = from_there.told.reason = died;
  }
  return restore(std::move(run), std::move(from_there));
}

// A run id stands for one piece of work, so another agent's or task's result does not count.
static Result<void> check_same_task(const Continuation& finished, Call call, const RunId& id) {
  Json task;
  bool comparable = false;
  try {
    comparable =
        call.table->task_json(call.frame, task) && (!finished.task.is_null() || task.is_null());
  } catch (...) {
    return Error{Errc::invalid_argument,
                 "the task's conversion to JSON threw: " + current_exception_text()};
  }
  if (comparable && task == finished.task) return outcome::success();
  return Error{Errc::conflict,
               "run \"" + id +
                   (comparable ? "\" has finished with another task"
                               : "\" has finished, and its task cannot be compared with this one, "
                                 "because the task's type has no conversion to JSON") +
                   "; give another run id, or ask for its result with resume_run"};
}

Outcome recorded_result(const AgentCore& core, Call call, const RunOptions& options,
                        bool* degraded) {
  auto opened = open_run(core, options.run_id, {.run = options});
  if (!opened) return std::make_unique<Error>(std::move(opened).error());
  if (auto same = check_same_task(*opened.value(), call, options.run_id); !same) {
    return std::make_unique<Error>(std::move(same).error());
  }
  return resume(std::move(opened).value(), call, degraded);
}

static Outcome resume_alone(ContinuationPtr continuation, Call call, bool* degraded) {
  if (continuation->recorded) {
    const Json& finished = *continuation->recorded;
    try {
      if (finished.contains("result") && call.table->put_result(call.frame, finished["result"])) {
        *degraded = finished.value("degraded", false);
        return nullptr;
      }
    } catch (...) {
      return std::make_unique<Error>(
          Errc::conflict, "the recorded result does not convert to the agent's result: " +
                              current_exception_text());
    }
    return std::make_unique<Error>(
        Errc::unsupported,
        "the run has finished, but its result could not be stored" +
            (finished.contains("problem") ? ": " + text_field(finished, "problem")
                                          : std::string(": its type has no conversion to JSON")));
  }
  Run run(continuation->core, call, continuation->options);
  run.take_data(std::move(continuation->data), continuation->attempts);
  Outcome outcome = run.execute(RunMachine::Begins::resumed, continuation->first);
  *degraded = run.degraded();
  return outcome;
}

Outcome resume(ContinuationPtr continuation, Call call, bool* degraded) {
  const Attempt* parent = continuation->options.parent;
  if (parent == nullptr) return resume_alone(std::move(continuation), call, degraded);
  const AttemptUse use(*parent);
  if (!use) return std::make_unique<Error>(ended_parent());
  const RunId id = continuation->options.run_id;
  Outcome outcome = resume_alone(std::move(continuation), call, degraded);
  if (!outcome || !outcome->suspension()) Run::hand_over(*parent, id, outcome.get());
  return outcome;
}

}  // namespace triage::inline v0_1::detail
