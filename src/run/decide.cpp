// SPDX-License-Identifier: MIT
// From a failed attempt to a recovery action: classify, hooks, limits, policy, in this order.
#include "base/shield.hpp"
#include "classifier/times/retry_after.hpp"
#include "contract/contract_return.hpp"
#include "journal/causes_json.hpp"
#include "run/run.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// Steps that were restored failed in an earlier attempt, if they did.
std::optional<std::size_t> last_failed_step(const Trajectory& trajectory, std::size_t restored) {
  std::size_t index = trajectory.size();
  // Chunk by chunk from the end: an index costs a walk along all chunks behind it.
  for (const StepChunk* chunk = trajectory.tail().get(); chunk != nullptr && index > restored;
       chunk = chunk->previous().get()) {
    while (index > std::max(chunk->first(), restored)) {
      --index;
      if (chunk->at(static_cast<std::uint32_t>(index - chunk->first())).error) return index;
    }
  }
  return std::nullopt;
}

Json evidence_json(const std::vector<Evidence>& evidence) {
  Json all = Json::array();
  for (const Evidence& one : evidence) {
    Json entry{{"source", one.source},
               {"suggests", to_string(one.suggests)},
               {"detail", one.detail},
               {"confidence", one.confidence}};
    if (one.step) entry["step"] = *one.step;
    if (!one.facts.empty()) entry["facts"] = one.facts;
    all.push_back(std::move(entry));
  }
  return all;
}

// What the next attempt is told if the strategy has nothing to say: how the contract was broken.
std::string contract_hint(const FailureContext& context) {
  const std::vector<Evidence>& evidence = context.classification.evidence;
  if (evidence.empty() || evidence.front().source != "contract") return {};
  return evidence.front().suggests == context.type() ? evidence.front().detail + "." : "";
}

}  // namespace

bool reruns(RecoveryAction::Kind kind) noexcept {
  return kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::replan ||
         kind == RecoveryAction::Kind::rollback || kind == RecoveryAction::Kind::resume;
}

Decision Run::decide() {
  classify();
  leave_attempt(false);
  const FailureContext& context = body_->context();
  emit(EventKind::failure_classified, {.failure = &context});
  const auto& hook = core_.options.hooks.on_failure;
  if (hook) call_hook("on_failure", [&] { hook(context); });
  RecoveryAction action = choose();
  if (reruns(action.kind) && action.hint.empty()) action.hint = contract_hint(context);
  announce(action);
  return act(action);
}

void Run::announce(const RecoveryAction& action) {
  const FailureContext& context = body_->context();
  emit(EventKind::recovery_chosen, {.failure = &context, .action = &action});
  const auto& hook = core_.options.hooks.on_recovery;
  if (hook) call_hook("on_recovery", [&] { hook(context, action); });
}

void Run::classify() {
  complete_context();
  RunBody& b = *body_;
  Classification& found = b.context().classification;
  found = ask_classifier();
  b.classified_attempt = attempt_;
  if (!found.critical_step) {
    found.critical_step = last_failed_step(b.context().trajectory, b.restored_steps);
  }
  if (found.critical_step && *found.critical_step >= b.context().trajectory.size()) {
    found.critical_step.reset();
  }
  if (!b.store) {
    b.journal.note_failure(found.critical_step);
    return;
  }
  Json fields{{"type", to_string(found.type)},
              {"reason", found.reason},
              {"confidence", found.confidence},
              {"text", b.context().text},
              {"exception_type", b.context().exception_type},
              {"evidence", evidence_json(found.evidence)}};
  if (found.critical_step) fields["critical_step"] = *found.critical_step;
  if (found.retry_after) fields["retry_after_ns"] = found.retry_after->count();
  if (const std::error_code& code = b.failure().code; code) {
    fields["code"] = Json{
        {"category", code.category().name()}, {"value", code.value()}, {"text", code.message()}};
  }
  if (b.failure().http_status) fields["http_status"] = *b.failure().http_status;
  if (b.failure().json_rpc_code) fields["json_rpc_code"] = *b.failure().json_rpc_code;
  if (b.failure().grpc_status) fields["grpc_status"] = *b.failure().grpc_status;
  if (Json causes = causes_json(b.failure().causes); !causes.empty()) {
    fields["causes"] = std::move(causes);
  }
  if (!b.context().notes.empty()) fields["notes"] = b.context().notes;
  record_fact(RecordKind::failure_classified, std::move(fields));
}

void Run::complete_context() {
  RunBody& b = body();
  FailureContext& context = b.context();
  if (!b.started_at) b.started_at = began_.value_or(now());
  if (context.task.empty()) context.task = task_text();
  context.attempt_number = std::max(attempt_, 1);  // 0: the deadline left no time for the first.
  context.history.reserve(b.journal.history().capacity());  // Not one allocation a failure.
  context.history = b.journal.history();
  context.trajectory = b.journal.trajectory();
  context.random = unit_interval(core_.random->next());
  context.text = b.failure().text;
  context.exception_type = b.failure().exception_type;
  context.usage = b.journal.usage();
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
  if (b.store) {
    context.run_id = id();
    const Sequence latest = b.journal.latest().info.id.sequence;
    context.last_checkpoint = latest == 0 ? "" : to_string(CheckpointId{id(), latest});
  }
}

void Run::measure_time() {
  FailureContext& context = body_->context();
  const TimePoint instant = now();
  context.elapsed = instant - body_->started_at.value_or(instant);
  context.remaining.reset();
  if (const auto until = deadline()) context.remaining = *until - instant;
  if (limits().max_elapsed != Duration::zero()) {
    const Duration left = limits().max_elapsed - context.elapsed;
    context.remaining = context.remaining ? std::min(*context.remaining, left) : left;
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
  RunBody& b = *body_;
  if (b.made_extras && b.made_extras->broken_return) return *b.made_extras->broken_return;
  if (!b.failure().type && b.child && b.child_at == b.journal.last()) {
    Classification inherited = b.child->classification;
    inherited.critical_step.reset();  // It points into the child's trajectory.
    inherited.loop_steps.clear();
    for (Evidence& one : inherited.evidence) one.step.reset();
    return inherited;
  }
  if (b.failure().type) {
    return {.type = *b.failure().type,
            .reason = b.failure().reason,
            .confidence = 1.0,
            .evidence = {{.source = "reported",
                          .suggests = *b.failure().type,
                          .detail = "the type was named where the failure was reported",
                          .confidence = 1.0}},
            .retry_after = find_retry_after(b.failure(), core_.clock.get()).wait};
  }
  const ClassifierInput input{
      .failure = b.failure(),
      .trajectory = b.context().trajectory,
      .task = b.context().task,
      .restored_steps = b.restored_steps,
      .contract = contract().get(),
      .breaches = breaches(),
      .deadline_passed = b.context().remaining && *b.context().remaining <= Duration::zero(),
      .rolled_back_step = b.rolled_back_step,
      .newest_call_tokens = b.newest_call_tokens,
      .remaining = b.context().remaining,
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

std::optional<std::string> Run::exhausted_limit() const {
  const FailureContext& context = body_->context();
  if (attempt_ - body_->journal.suspended_attempts() >= limits().max_attempts) {
    return "limits.max_attempts (" + std::to_string(limits().max_attempts) + ") reached";
  }
  if (context.occurrence() >= limits().max_attempts_per_type) {
    return "limits.max_attempts_per_type (" + std::to_string(limits().max_attempts_per_type) +
           ") reached for " + std::string(to_string(context.type()));
  }
  if (limits().max_elapsed != Duration::zero() && context.elapsed >= limits().max_elapsed) {
    return "limits.max_elapsed (" +
           std::to_string(std::chrono::duration<double>(limits().max_elapsed).count()) +
           " s) is over";
  }
  if (deadline() && context.remaining && *context.remaining <= Duration::zero()) {
    return "the deadline has passed";
  }
  if (body_->no_attempt != nullptr) return body_->no_attempt;
  if (body_->gate_closed) return "a gate refused, and named no time to ask again: " + context.text;
  if (limits().max_tokens != 0 && context.usage.tokens() >= limits().max_tokens) {
    return "limits.max_tokens (" + std::to_string(limits().max_tokens) + ") reached: used " +
           std::to_string(context.usage.tokens());
  }
  if (limits().max_cost_usd > 0.0 && context.usage.cost_usd >= limits().max_cost_usd) {
    return "limits.max_cost_usd (" + std::to_string(limits().max_cost_usd) + ") reached: spent " +
           std::to_string(context.usage.cost_usd);
  }
  return std::nullopt;
}

RecoveryAction Run::choose() {
  RunExtras* extras = body_->made_extras.get();
  if (extras != nullptr) extras->asking.by_guard = false;
  // No policy is asked about a doubt: running again would only come to it again.
  if (in_doubt()) {
    return before_escalation(RecoveryAction::escalate(body_->sticky->detail),
                             exhausted_limit().has_value());
  }
  if (auto limit = exhausted_limit()) {
    return before_escalation(
        RecoveryAction::escalate(*limit + " after " +
                                 std::string(to_string(body_->context().type()))),
        true);
  }
  if (extras != nullptr && extras->asked &&
      body_->context().classification.reason == needs_approval) {
    extras->asking.by_guard = true;
    return *extras->asked;
  }
  return within_limits();
}

RecoveryAction Run::within_limits() {
  RecoveryAction action = ask_policy();
  if (auto problem = wrong_delay(action)) {
    action = RecoveryAction::escalate("the strategy for " +
                                      std::string(to_string(body_->context().type())) +
                                      " asked for " + *std::move(problem));
  }
  if (auto problem =
          unsafe_to_rerun(core_, body_->context().trajectory, body_->restored_steps, action.kind))
    action = RecoveryAction::escalate(*problem);
  if (action.kind == RecoveryAction::Kind::escalate) {
    action = before_escalation(std::move(action), false);
  }
  return action;
}

RecoveryAction Run::ask_policy() {
  try {
    return core_.policy.decide(body_->context());
  } catch (...) {
    const std::string text = current_exception_text();
    note("the strategy for " + std::string(to_string(body_->context().type())) + " threw: " + text);
    return RecoveryAction::escalate("the strategy threw: " + text);
  }
}

// Asked once a failure, whatever the escalation's cause. A limit cannot be talked away: then only
// actions that do not run the callable again are taken.
RecoveryAction Run::before_escalation(RecoveryAction action, bool by_limit) {
  const auto& hook = core_.options.hooks.on_escalate;
  if (!hook) return action;
  if (std::exchange(body_->escalation_asked, true)) return action;
  std::optional<RecoveryAction> instead;
  call_hook("on_escalate", [&] { instead = hook(body_->context()); });
  if (!instead) return action;
  if (by_limit && reruns(instead->kind)) {
    note("on_escalate asked for " + std::string(to_string(instead->kind)) + ", but " +
         action.message);
    return action;
  }
  if (auto problem = wrong_delay(*instead)) {
    note("on_escalate asked for " + *problem);
    return action;
  }
  if (auto problem = unsafe_to_rerun(core_, body_->context().trajectory, body_->restored_steps,
                                     instead->kind)) {
    note("on_escalate asked for " + std::string(to_string(instead->kind)) + ", but " + *problem);
    return action;
  }
  if (by_limit) body_->spent_limit = action.message;
  return *std::move(instead);
}

std::optional<std::string> wrong_delay(const RecoveryAction& action) {
  if (action.delay >= Duration::zero()) return std::nullopt;
  return std::string(to_string(action.kind)) + " after a delay of " +
         std::to_string(action.delay.count()) + " ns; allowed is 0 or more";
}

std::optional<std::string> unsafe_to_rerun(const AgentCore& core, const Trajectory& trajectory,
                                           std::size_t restored_steps,
                                           RecoveryAction::Kind action) {
  if (!core.options.strict_idempotency || !reruns(action)) return std::nullopt;
  std::string steps;
  std::size_t index = 0;
  for (const Step& step : trajectory) {
    if (!step.idempotent && index >= restored_steps) {
      steps += (steps.empty() ? "" : ", ") + ("step " + std::to_string(index)) + " \"" +
               printable(step.action) + "\"";
    }
    ++index;
  }
  if (steps.empty()) return std::nullopt;
  return "strict_idempotency forbids " + std::string(to_string(action)) +
         ": not marked idempotent are " + steps;
}

void Run::call_hook(std::string_view name, const std::function<void()>& hook) {
  try {
    hook();
  } catch (...) {
    note("the hook " + std::string(name) + " threw: " + current_exception_text());
  }
}

}  // namespace triage::inline v0_1::detail
