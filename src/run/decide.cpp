// SPDX-License-Identifier: MIT
// Answers the machine's questions about a failure: its classification, the hooks, the policy.
#include "base/run_catching.hpp"
#include "classifier/times/retry_after.hpp"
#include "contract/contract_return.hpp"
#include "journal/failure_json.hpp"
#include "run/run.hpp"
#include "triage/detail/saturate.hpp"
#include "triage/detail/step_chunk.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {
namespace {

// Guesses of a conversation's critical step that are less certain are mostly wrong.
constexpr double least_guess_acted_on = 0.5;

// Failures among restored steps belong to an earlier attempt.
std::optional<std::size_t> last_failed_step(const Trajectory& trajectory, std::size_t restored) {
  std::size_t index = trajectory.size();
  // By chunks from the end: indexing would walk all later chunks.
  for (const StepChunk* chunk = trajectory.tail().get(); chunk != nullptr && index > restored;
       chunk = chunk->previous().get()) {
    while (index > std::max(chunk->first(), restored)) {
      --index;
      if (chunk->failed(static_cast<std::uint32_t>(index - chunk->first()))) return index;
    }
  }
  return std::nullopt;
}

// Copies what is new: copying all would make the cost of many failures grow with their square. A
// decision replaces the newest entry before it adds its own.
void bring_up_to_date(std::vector<HistoryEntry>& copy, const std::vector<HistoryEntry>& history) {
  constexpr std::size_t may_differ = 2;
  const std::size_t both = std::min(copy.size(), history.size());
  const auto same = static_cast<std::ptrdiff_t>(both - std::min(both, may_differ));
  copy.reserve(history.capacity());  // Avoids an allocation per failure.
  copy.erase(copy.begin() + same, copy.end());
  copy.insert(copy.end(), history.begin() + same, history.end());
}

}  // namespace

// Everything the machine needs to continue after this failure.
void Run::describe_situation(Situation& s) {
  RunData& data = *data_;
  s.context = &data.context();
  s.attempts = attempt_ - data.journal.suspended_attempts();
  s.can_suspend = outlives_process();
  s.no_attempt = data.attempt.no_attempt;
  s.gate_closed = data.attempt.gate_closed;
  s.time_end = name_of_end();
  s.in_doubt.reset();
  if (data.attempt.sticky && data.attempt.sticky->code == Errc::in_doubt)
    s.in_doubt = data.attempt.sticky->detail;
  const RunExtras* extras = data.made_extras.get();
  const bool asks = extras != nullptr && extras->attempt.asked &&
                    s.context->classification.reason == needs_approval;
  s.asked = asks ? &*extras->attempt.asked : nullptr;
  s.unsafe_steps.clear();
  if (core_.options.strict_idempotency) {
    s.unsafe_steps = unsafe_steps(s.context->trajectory, data.restored_steps);
  }
}

Situation& Run::decided_situation() {
  measure_time();
  Situation& s = data_->situation();
  describe_situation(s);
  s.action = *data_->decided;
  return s;
}

Input Run::classify_failure() {
  classify();
  if (stop_token().stop_requested()) {  // What a classifier says that was stopped decides nothing.
    give_back_permit();
    return cancel("the stop token was triggered");
  }
  leave_attempt(false);
  emit(EventKind::failure_classified, {.failure = &data_->context()});
  describe_situation(data_->situation());
  return Input::classified;
}

Input Run::tell_failure() {
  call_hook("on_failure", [&] { core_.options.hooks.on_failure(data_->context()); });
  return Input::done;
}

Input Run::ask_policy() {
  Failing& failing = data_->failing();
  RecoveryAction& action = failing.situation.action;
  // Constructed in place, because moving an action costs more than the query.
  std::destroy_at(&action);
  try {
    ::new (&action) RecoveryAction(core_.policy.decide(failing.context));
  } catch (...) {
    ::new (&action) RecoveryAction();
    const std::string text = current_exception_text();
    note("the strategy for " + std::string(to_string(data_->context().type())) + " threw: " + text);
    action = RecoveryAction::escalate("the strategy threw: " + text);
  }
  return Input::answered;
}

Input Run::ask_escalation() {
  std::optional<RecoveryAction>& instead = data_->situation().instead;
  instead.reset();
  call_hook("on_escalate", [&] { instead = core_.options.hooks.on_escalate(data_->context()); });
  return Input::answered;
}

Input Run::announce() {
  const FailureContext& context = data_->context();
  const RecoveryAction& action = data_->situation().action;
  emit(EventKind::recovery_chosen, {.failure = &context, .action = &action});
  const auto& hook = core_.options.hooks.on_recovery;
  if (hook) call_hook("on_recovery", [&] { hook(context, action); });
  return Input::done;
}

void Run::classify() {
  complete_context();
  RunData& data = *data_;
  Classification& found = data.context().classification;
  found = ask_classifier();
  if (to_string(found.type) == to_string(FailureType::unknown)) found.type = FailureType::unknown;
  data.classified_attempt = attempt_;
  // A guess is kept as evidence; only a confident one justifies discarding progress.
  if (found.critical_step_confidence && *found.critical_step_confidence < least_guess_acted_on) {
    found.critical_step.reset();
  }
  if (!found.critical_step && !data.attempt.gate_refused) {
    found.critical_step_confidence.reset();
    found.critical_step = last_failed_step(data.context().trajectory, data.restored_steps);
  }
  if (found.critical_step && *found.critical_step >= data.context().trajectory.size()) {
    found.critical_step.reset();
  }
  if (!data.store) {
    data.journal.note_failure(found.critical_step);
    return;
  }
  record_fact(RecordKind::failure_classified, failure_fields(data.context(), data.failure()));
}

void Run::complete_context() {
  RunData& data = made_data();
  FailureContext& context = data.context();
  if (!data.started_at) data.started_at = began_.value_or(now());
  if (context.task.empty()) context.task = task_text();
  context.refused = data.attempt.gate_refused;
  context.attempt_number = std::max(attempt_, 1);  // 0: the deadline left no time for the first.
  bring_up_to_date(context.history, data.journal.history());
  context.trajectory = data.journal.trajectory();
  context.random = unit_interval(core_.random->next());
  context.text = data.failure().text;
  context.exception_type = data.failure().exception_type;
  context.usage = data.journal.usage();
  collect_notes();
  measure_time();
  context.contract = contract();
  context.tools.clear();
  context.incomplete_subgoal.reset();
  if (context.contract) {
    for (const ToolContract& tool : context.contract->tools) context.tools.push_back(tool.name);
    auto open = open_subgoals(*context.contract, context.trajectory);
    if (!open.empty()) context.incomplete_subgoal = std::move(open.front());
  }
  if (data.store) context.run_id = id();
}

void Run::measure_time() {
  FailureContext& context = data_->context();
  const TimePoint instant = now();
  context.elapsed = instant - data_->started_at.value_or(instant);
  context.remaining.reset();
  if (const auto until = time_ends()) {
    context.remaining = Duration(
        saturating_subtract(until->time_since_epoch().count(), instant.time_since_epoch().count()));
  }
}

std::string Run::task_text() const {
  try {
    return call_.table->task_text(call_.frame);
  } catch (...) {
    return "<the task's conversion to text threw: " + current_exception_text() + ">";
  }
}

Classification Run::ask_classifier() {
  RunData& data = *data_;
  if (data.made_extras && data.made_extras->attempt.broken_return)
    return *data.made_extras->attempt.broken_return;
  if (!data.failure().type && data.attempt.child && data.attempt.child_at == data.journal.last()) {
    Classification inherited = data.attempt.child->classification;
    inherited.critical_step.reset();  // It refers to the child's trajectory.
    inherited.loop_steps.clear();
    for (Evidence& one : inherited.evidence) one.step.reset();
    return inherited;
  }
  if (data.failure().type) {
    Classification reported{
        .type = *data.failure().type,
        .reason = data.failure().reason,
        .confidence = 1.0,
        .evidence = {{.source = "reported",
                      .suggests = *data.failure().type,
                      .detail = "the type was named where the failure was reported",
                      .confidence = 1.0}}};
    reported.retry_after = find_retry_after(data.failure(), reported, core_.clock.get()).wait;
    return reported;
  }
  const ClassifierInput input{
      .failure = data.failure(),
      .trajectory = data.context().trajectory,
      .task = data.context().task,
      .restored_steps = data.restored_steps,
      .contract = contract().get(),
      .breaches = breaches(),
      .deadline_passed = data.context().remaining && *data.context().remaining <= Duration::zero(),
      .rolled_back_step = data.rolled_back_step,
      .newest_call_tokens = data.attempt.newest_call_tokens,
      .remaining = data.context().remaining,
      .stop_token = stop_token(),
      .clock = core_.clock.get()};
  try {
    return core_.classifier->classify(input);
  } catch (...) {
    const std::string text = current_exception_text();
    note("the classifier threw: " + text);
    return {.evidence = {{.source = "classifier", .detail = "the classifier threw: " + text}}};
  }
}

std::string unsafe_steps(const Trajectory& trajectory, std::size_t restored_steps) {
  std::string steps;
  std::size_t index = 0;
  for (const Step& step : trajectory) {
    if (!step.idempotent && index >= restored_steps) {
      steps += (steps.empty() ? "" : ", ") + ("step " + std::to_string(index)) + " \"" +
               printable(step.action) + "\"";
    }
    ++index;
  }
  return steps;
}

std::optional<std::string> unsafe_to_rerun(const AgentCore& core, const Trajectory& trajectory,
                                           std::size_t restored_steps,
                                           RecoveryAction::Kind action) {
  if (!core.options.strict_idempotency || !reruns(action)) return std::nullopt;
  const std::string steps = unsafe_steps(trajectory, restored_steps);
  if (steps.empty()) return std::nullopt;
  return forbidden_repetition(action, steps);
}

void Run::call_hook(std::string_view name, const std::function<void()>& hook) {
  try {
    hook();
  } catch (...) {
    note("the hook " + std::string(name) + " threw: " + current_exception_text());
  }
}

}  // namespace triage::inline v0_1::detail
