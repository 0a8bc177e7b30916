// SPDX-License-Identifier: MIT
// The single way to continue a run: what it had, and what happens now.
#include "resume/continuation.hpp"

#include "journal/action_json.hpp"
#include "journal/failure_json.hpp"
#include "journal/record_body.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {

void Continuation::set_terms(RunOptions own, const RunOptions& given, Duration elapsed) {
  options = std::move(own);
  options.parent = given.parent;
  options.on_activity = given.on_activity;
  if (given.deadline) options.deadline = given.deadline;
  if (given.limits) options.limits = given.limits;
  if (given.stop_token.stop_possible()) options.stop_token = given.stop_token;
  data->started_at = core.clock->now() - elapsed;
}

void ContinuationDeleter::operator()(Continuation* continuation) const noexcept {
  delete continuation;
}

const Json& task_of(const Continuation& continuation) noexcept { return continuation.task; }

Terms Continuation::terms() const {
  Clock& clock = *core.clock;
  Terms terms{.limits = options.limits};
  if (options.deadline) terms.deadline = wall_time(clock, *options.deadline);
  terms.elapsed = clock.now() - data->started_at.value_or(clock.now());
  return terms;
}

void restore_context(const Continuation& run, FailureContext& context) {
  const Journal& journal = run.journal();
  read_failure(newest_body(run.reading, RecordKind::failure_classified), context);
  context.attempt_number = std::max(journal.attempts(), 1);
  context.history = journal.history();
  const bool undecided =
      !context.history.empty() && context.history.back().action == RecoveryAction::Kind::suspend;
  if (undecided) context.history.pop_back();
  context.trajectory = journal.trajectory();
  context.usage = journal.usage();
  context.elapsed = terms_of(run.reading).elapsed;
  context.task = run.task.is_string() ? run.task.get<std::string>() : show(run.task);
  context.run_id = journal.run();
  context.contract = run.core.contract;
  for (const ToolContract& tool : run.core.options.contract.tools) {
    context.tools.push_back(tool.name);
  }
}

Json resumed_fields(const Resumption& with) {
  if (!with.action) return Json{{"to", with.from}, {"reason", with.reason}};
  Json fields{{"to", with.from},
              {"reason", with.reason},
              {"action", to_string(with.action->kind)},
              {"decision", action_json(*with.action)}};
  if (!with.who.empty()) fields["by"] = with.who;
  if (!with.child.is_null()) fields["child_decision"] = with.child;
  return fields;
}

namespace {

// A decision must be durable before its token is spent. Everything else becomes durable before the
// callable runs.
Result<void> record_decision(RunData& data, const Record& resumed, const std::string& ticket) {
  TRIAGE_TRYV(run_catching([&] {
    return data.store->append(data.writer.lease, {&resumed, 1}, RunStatus::running);
  }));
  forget_ticket(*data.store, ticket);
  data.writer.durable = data.journal.last();
  return outcome::success();
}

Result<void> record(Continuation& run, const Resumption& with) {
  RunData& data = *run.data;
  if (with.recorded) return outcome::success();
  if (!data.store) {
    if (!with.child.is_null()) {
      data.journal.decide_awaited(with.child["run"], with.child["action"], with.who);
    }
    return outcome::success();
  }
  std::string ticket = text_field(data.journal.suspended(), "ticket");
  const WallTime wall = run.core.clock->wall_now();
  Json fields = resumed_fields(with);
  put_terms(run.terms(), fields);
  Record resumed = data.journal.add(RecordKind::resumed, wall, std::move(fields));
  data.writer.status = RunStatus::running;
  data.writer.queued = data.journal.last();
  if (with.action && run.was_read()) return record_decision(data, resumed, ticket);
  data.writer.pending.push_back(std::move(resumed));
  if (with.action) return outcome::success();
  if (!ticket.empty()) data.extras().spent_ticket = std::move(ticket);
  // If reading back is short anyway, a snapshot would only grow the store with every process that
  // dies.
  if (data.journal.wants_snapshot()) {
    data.writer.pending.push_back(
        data.journal.snapshot_state(data.journal.state().json(), false, wall));
  }
  if (!data.died_at_limit) {
    data.writer.pending.push_back(
        data.journal.add(RecordKind::attempt_started, wall, Json{{"number", run.attempts + 1}}));
  }
  data.writer.queued = data.journal.last();
  return outcome::success();
}

// The newest failure is the one that the decision concerns.
void restore_newest_failure(Continuation& run) {
  if (!run.was_read()) return;
  RunData& data = *run.data;
  restore_context(run, data.context());
  data.classified_attempt = run.attempts;
  data.restored_steps = field<std::size_t>(data.journal.suspended(), "restored_steps", 0);
}

// Deciding to continue approves the step that a guard asked about.
void approve_asked(RunData& data, const Resumption& with) {
  RunExtras& extras = data.extras();
  const RecoveryAction::Kind kind = with.action->kind;
  const bool approves = kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::resume;
  // Only what this suspension asked about, and only if it was decided rather than due.
  const bool asked = std::exchange(extras.attempt.asking.by_guard, false);
  if (asked && approves && with.reason != "due") data.journal.approve(extras.attempt.proposed);
}

}  // namespace

Result<ContinuationPtr> restore(ContinuationPtr run, Resumption with) {
  RunData& data = *run->data;
  if (with.action) {
    restore_newest_failure(*run);
    // Whoever reads this later must know that the run goes on behind the damage.
    if (data.damaged_at != 0) with.from = data.journal.latest().info.id.sequence;
  }
  if (data.store && !with.recorded) {
    TRIAGE_TRYV(learn_state(*data.store, data.journal, with.from));
  }
  TRIAGE_TRYV(record(*run, with));
  run->reading = {};
  if (with.action) {
    approve_asked(data, with);
    data.decided = std::make_unique<RecoveryAction>(*std::move(with.action));
    data.extras().decided_by = std::move(with.who);
    run->first = Input::decided;
  } else {
    data.recovery = std::make_unique<Recovery>(std::move(with.told));
    data.restored_steps = data.journal.trajectory().size();
  }
  return outcome::success(std::move(run));
}

}  // namespace triage::inline v0_1::detail
