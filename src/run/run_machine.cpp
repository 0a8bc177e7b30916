// SPDX-License-Identifier: MIT
// From a failure to the next attempt or the end: limits, hooks and the policy, and what each action
// needs, in this order.
#include "run/run_machine.hpp"

#include "base/ascii.hpp"
#include "seams/action_names.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

std::string seconds_text(Duration length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", std::chrono::duration<double>(length).count());
  return text;
}

std::string name_of_kind(RecoveryAction::Kind kind) { return std::string(to_string(kind)); }

}  // namespace

const char* no_time_left(std::string_view end) noexcept {
  return end == the_deadline ? "the deadline leaves no time for an attempt"
                             : "limits.max_elapsed leaves no time for an attempt";
}

bool reruns(RecoveryAction::Kind kind) noexcept {
  return kind == RecoveryAction::Kind::retry || kind == RecoveryAction::Kind::replan ||
         kind == RecoveryAction::Kind::rollback || kind == RecoveryAction::Kind::resume;
}

std::optional<std::string> wrong_action(const RecoveryAction& action) {
  if (action.delay < Duration::zero()) {
    return name_of_kind(action.kind) + " after a delay of " + std::to_string(action.delay.count()) +
           " ns; allowed is 0 or more";
  }
  for (const std::string& name : action.allowed_actions) {
    if (parse_recovery_kind(name)) continue;
    return name_of_kind(action.kind) + " with the allowed action \"" + printable(name) + "\"" +
           allowed_names(printable(name), action_names());
  }
  return std::nullopt;
}

std::string forbidden_repetition(RecoveryAction::Kind kind, const std::string& steps) {
  return "strict_idempotency forbids " + name_of_kind(kind) + ": not marked idempotent are " +
         steps;
}

std::string contract_hint(const FailureContext& context) {
  const std::vector<Evidence>& evidence = context.classification.evidence;
  if (evidence.empty() || evidence.front().source != "contract") return {};
  return evidence.front().suggests == context.type() ? evidence.front().detail + "." : "";
}

namespace {

constexpr std::string_view failure_follows = "; the failure was: ";

bool is_word(char c) noexcept { return is_alnum(c) || c == '_'; }

// Whether a message tells the text, and not only a longer word that contains it.
bool tells(std::string_view message, std::string_view text) {
  for (std::size_t at = message.find(text); at != std::string_view::npos;
       at = message.find(text, at + 1)) {
    const std::size_t end = at + text.size();
    const bool begins = at == 0 || !is_word(message[at - 1]);
    if (text.empty() || (begins && (end == message.size() || !is_word(message[end])))) return true;
  }
  return false;
}

}  // namespace

std::string with_failure(std::string reason, std::string_view failure) {
  return std::move(reason.append(failure_follows).append(failure));
}

std::string reason_without(std::string_view detail, std::string_view failure) {
  if (!detail.ends_with(failure)) return {};
  detail.remove_suffix(failure.size());
  if (!detail.ends_with(failure_follows)) return {};
  return std::string(detail.substr(0, detail.size() - failure_follows.size()));
}

Next RunMachine::next_step(Input input) {
  const bool went_well = input == Input::done;
  switch (phase_) {
    case Phase::ready:
    case Phase::resuming: return begin(input);
    case Phase::settling_start: return input == Input::drained ? begin_attempt() : stop(input);
    case Phase::entering: return enter(input);
    case Phase::held:
      return input == Input::woke ? go(Phase::entering, Do::enter_gates) : stop(input);
    case Phase::settling_failure:
      return input == Input::drained ? go(Phase::classifying, Do::classify) : stop(input);
    case Phase::classifying:
      if (input != Input::classified) return stop(input);
      at_->escalation_asked = false;
      chosen_ = false;
      return rules_.tells_failure ? go(Phase::telling, Do::tell_failure) : choose();
    case Phase::telling: return went_well ? choose() : stop(input);
    case Phase::asking: return input == Input::answered ? within_limits() : stop(input);
    case Phase::asking_escalation:
      return input == Input::answered ? escalation_answered() : stop(input);
    case Phase::announcing: return went_well ? act() : stop(input);
    case Phase::targeting: return roll_back(input);
    case Phase::undoing: return went_well ? undone() : stop(input);
    case Phase::applying: return carried_out(input);
    case Phase::waiting: return input == Input::woke ? begin_attempt() : stop(input);
    case Phase::ending_run: return stop(went_well ? Input::stopped : input);
    case Phase::attempting:
    case Phase::settling_success:
    case Phase::ending:
    case Phase::finished: return finish();
  }
  return finish();
}

Next RunMachine::begin(Input input) {
  if (phase_ == Phase::ready) {
    if (!resumed_ || (input != Input::start && input != Input::decided)) return stop(input);
    decided_ = input == Input::decided;
    return go(Phase::resuming, Do::finish_undoing);
  }
  if (input != Input::done) return stop(input);
  if (decided_) {
    chosen_ = true;
    at_->by_guard = false;
    return act();
  }
  return has_store_ ? go(Phase::settling_start, Do::drain) : begin_attempt();
}

Next RunMachine::enter(Input input) {
  if (input == Input::done) return go(Phase::entering, Do::enter_gates);
  if (input == Input::entered) return go(Phase::attempting, Do::invoke);
  if (input == Input::failed) return settle(Phase::settling_failure);
  if (input != Input::held) return stop(input);
  const auto& left = at_->gate_time_left;
  if (left && at_->gate_wait >= *left) return go(Phase::entering, Do::refuse_entry);
  phase_ = Phase::held;
  return {.what = Do::wait, .delay = at_->gate_wait};
}

// --- Which action.

Next RunMachine::choose() {
  Situation& s = *at_;
  s.by_guard = false;
  // No policy is asked if an effect is in doubt: another attempt would meet the same doubt.
  if (s.in_doubt) {
    s.action = RecoveryAction::escalate(*s.in_doubt);
    return before_escalation(exhausted_limit().has_value());
  }
  if (auto limit = exhausted_limit()) {
    s.action =
        RecoveryAction::escalate(*limit + " after " + std::string(to_string(s.context->type())));
    return before_escalation(true);
  }
  if (s.asked != nullptr) {
    s.by_guard = true;
    s.action = *s.asked;
    return announce();
  }
  return go(Phase::asking, Do::ask_policy);
}

std::optional<std::string> RunMachine::exhausted_limit() const {
  const Situation& s = *at_;
  const FailureContext& context = *s.context;
  if (s.attempts >= limits_.max_attempts) {
    return "limits.max_attempts (" + std::to_string(limits_.max_attempts) + ") reached";
  }
  if (context.refused && context.occurrence() >= limits_.max_attempts_per_type) {
    return "gates refused " + std::to_string(context.occurrence()) +
           " times in a row, which is all that limits.max_attempts_per_type allows";
  }
  if (context.occurrence() >= limits_.max_attempts_per_type) {
    return "limits.max_attempts_per_type (" + std::to_string(limits_.max_attempts_per_type) +
           ") reached for " + std::string(to_string(context.type()));
  }
  if (limits_.max_elapsed != Duration::zero() && context.elapsed >= limits_.max_elapsed) {
    return "limits.max_elapsed (" +
           std::to_string(std::chrono::duration<double>(limits_.max_elapsed).count()) +
           " s) is over";
  }
  if (context.remaining && *context.remaining <= Duration::zero()) {
    return std::string(s.time_end) + " has passed";
  }
  if (s.no_attempt != nullptr) return s.no_attempt;
  if (s.gate_closed) return context.text + "; it named no time to ask again";
  if (limits_.max_tokens != 0 && context.usage.tokens() >= limits_.max_tokens) {
    return "limits.max_tokens (" + std::to_string(limits_.max_tokens) + ") reached: used " +
           std::to_string(context.usage.tokens());
  }
  if (limits_.max_cost_usd > 0.0 && context.usage.cost_usd >= limits_.max_cost_usd) {
    return "limits.max_cost_usd (" + std::to_string(limits_.max_cost_usd) + ") reached: spent " +
           std::to_string(context.usage.cost_usd);
  }
  return std::nullopt;
}

std::optional<std::string> RunMachine::unsafe_to_repeat(RecoveryAction::Kind kind) const {
  if (at_->unsafe_steps.empty() || !reruns(kind)) return std::nullopt;
  return forbidden_repetition(kind, at_->unsafe_steps);
}

Next RunMachine::within_limits() {
  Situation& s = *at_;
  if (auto problem = wrong_action(s.action)) {
    s.action =
        RecoveryAction::escalate("the strategy for " + std::string(to_string(s.context->type())) +
                                 " asked for " + *std::move(problem));
  }
  if (auto problem = unsafe_to_repeat(s.action.kind)) {
    s.action = RecoveryAction::escalate(*std::move(problem));
  }
  return s.action.kind == RecoveryAction::Kind::escalate ? before_escalation(false) : announce();
}

// Asked once per failure, whatever the reason for escalating.
Next RunMachine::before_escalation(bool by_limit) {
  if (!rules_.asks_escalation || std::exchange(at_->escalation_asked, true)) return announce();
  by_limit_ = by_limit;
  return go(Phase::asking_escalation, Do::ask_escalation);
}

// A limit is final: only actions that do not run the callable again are accepted.
Next RunMachine::escalation_answered() {
  Situation& s = *at_;
  if (!s.instead) return announce();
  RecoveryAction& instead = *s.instead;
  const std::string asked = "on_escalate asked for ";
  if (by_limit_ && reruns(instead.kind)) {
    s.notes.push_back(asked + name_of_kind(instead.kind) + ", but " + s.action.message);
  } else if (auto problem = wrong_action(instead)) {
    s.notes.push_back(asked + *std::move(problem));
  } else if (auto unsafe = unsafe_to_repeat(instead.kind)) {
    s.notes.push_back(asked + name_of_kind(instead.kind) + ", but " + *std::move(unsafe));
  } else {
    if (by_limit_) s.spent_limit = s.action.message;
    s.action = std::move(instead);
  }
  return announce();
}

Next RunMachine::announce() {
  RecoveryAction& action = at_->action;
  if (!std::exchange(chosen_, true) && reruns(action.kind) && action.hint.empty()) {
    action.hint = contract_hint(*at_->context);
  }
  return rules_.announces ? go(Phase::announcing, Do::announce) : act();
}

// --- Carrying out the action.

Next RunMachine::act() {
  Situation& s = *at_;
  s.recorded = false;
  const RecoveryAction& action = s.action;
  const bool too_long = limits_.max_wait != Duration::zero() && action.delay > limits_.max_wait;
  if (too_long && s.can_suspend && reruns(action.kind) && !too_late(action.delay)) {
    return go(Phase::ending_run, Do::suspend_wait);
  }
  switch (action.kind) {
    case RecoveryAction::Kind::retry:
    case RecoveryAction::Kind::replan:
    case RecoveryAction::Kind::resume:
      if (auto late = too_late(action.delay)) return escalate_instead(*std::move(late));
      return go(Phase::applying, Do::apply);
    case RecoveryAction::Kind::rollback:
      target_found_ = false;
      return go(Phase::targeting, Do::find_target);
    case RecoveryAction::Kind::suspend:
    case RecoveryAction::Kind::fallback: return go(Phase::applying, Do::apply);
    case RecoveryAction::Kind::abort:
    case RecoveryAction::Kind::escalate: break;
  }
  s.undoing = {};
  const bool wanted = action.kind == RecoveryAction::Kind::abort
                          ? rules_.undoes_on_abort
                          // An effect in doubt stays so when another action becomes an escalation.
                          : rules_.undoes_on_escalate && !s.in_doubt && !s.undoing_refused;
  return wanted ? go(Phase::undoing, Do::undo) : give_up();
}

// The chosen action cannot be carried out: escalates the failure, after asking on_escalate if it
// has not been asked yet.
Next RunMachine::escalate_instead(std::string message) {
  at_->action = RecoveryAction::escalate(std::move(message));
  return before_escalation(false);
}

Next RunMachine::roll_back(Input input) {
  if (input == Input::refused) {
    return escalate_instead("rollback is not possible: " + at_->problem);
  }
  if (input != Input::done) return stop(input);
  if (!std::exchange(target_found_, true)) {
    if (auto late = too_late(at_->action.delay)) return escalate_instead(*std::move(late));
    if (has_store_) return go(Phase::targeting, Do::learn_target);
  }
  return rules_.undoes_on_rollback ? go(Phase::undoing, Do::undo) : go(Phase::applying, Do::apply);
}

Next RunMachine::undone() {
  Situation& s = *at_;
  const RecoveryAction::Kind kind = s.action.kind;
  if (kind == RecoveryAction::Kind::escalate) {
    if (s.undoing.doubt) s.undoing.failures = {"nothing was undone: " + *s.undoing.doubt};
    return give_up();
  }
  if (s.undoing.doubt) {
    s.undoing_refused = true;
    return escalate_instead(name_of_kind(kind) +
                            " is not possible, nothing was undone: " + *s.undoing.doubt);
  }
  return kind == RecoveryAction::Kind::abort ? give_up() : go(Phase::applying, Do::apply);
}

Next RunMachine::carried_out(Input input) {
  const RecoveryAction& action = at_->action;
  if (input == Input::refused) {
    return escalate_instead(name_of_kind(action.kind) + " is not possible: " + at_->problem);
  }
  if (input != Input::done) return stop(input);
  if (!reruns(action.kind)) return stop(Input::stopped);
  if (action.delay <= Duration::zero()) return begin_attempt();
  phase_ = Phase::waiting;
  return {.what = Do::wait, .delay = action.delay};
}

Next RunMachine::give_up() {
  const Situation& s = *at_;
  const std::string& message = s.action.message;
  if (s.action.kind == RecoveryAction::Kind::escalate && s.in_doubt) {
    std::string detail = *s.in_doubt;
    if (message != detail) detail += "; " + message;
    return end_run(Errc::in_doubt, std::move(detail));
  }
  const bool aborts = s.action.kind == RecoveryAction::Kind::abort;
  std::string detail = message;
  if (detail.empty()) {
    detail = aborts ? "the policy gives the run up" : "the policy asks for a person";
  }
  for (const std::string& failure : s.undoing.failures) detail += "; " + failure;
  const std::string text = printable(s.context->text);  // As a strategy's message quotes it.
  const bool told = tells(detail, text);
  if (aborts) return end_run(Errc::aborted, std::move(detail));
  if (told) return end_run(Errc::escalated, std::move(detail));
  std::string whole = with_failure(detail, text);
  return end_run(Errc::escalated, std::move(whole), std::move(detail));
}

Next RunMachine::end_run(Errc code, std::string detail, std::string reason) {
  at_->ending = {.code = code, .detail = std::move(detail), .reason = std::move(reason)};
  return go(Phase::ending_run, Do::end_run);
}

std::optional<std::string> RunMachine::too_late(Duration delay) const {
  const auto& remaining = at_->context->remaining;
  if (delay <= Duration::zero() || !remaining || delay < *remaining) return std::nullopt;
  return "the next attempt would begin in " + seconds_text(delay) + ", after " +
         std::string(at_->time_end) + " in " + seconds_text(*remaining);
}

}  // namespace triage::inline v0_1::detail
