// SPDX-License-Identifier: MIT
#include "triage/policy.hpp"

#include "seams/action_names.hpp"

#include "triage/detail/counted.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"

#include <algorithm>
#include <cstdio>

namespace triage::inline v0_1 {
namespace {

constexpr std::array all_kinds{RecoveryAction::Kind::retry,    RecoveryAction::Kind::replan,
                               RecoveryAction::Kind::rollback, RecoveryAction::Kind::resume,
                               RecoveryAction::Kind::escalate, RecoveryAction::Kind::suspend,
                               RecoveryAction::Kind::abort,    RecoveryAction::Kind::fallback};

std::string describe_target(const RollbackTarget& target) {
  switch (target.kind) {
    case RollbackTarget::Kind::last_good: return "the last good checkpoint";
    case RollbackTarget::Kind::latest: return "the newest checkpoint";
    case RollbackTarget::Kind::label:
      return "the checkpoint labelled \"" + printable(target.name) + "\"";
    case RollbackTarget::Kind::checkpoint: return "checkpoint " + printable(target.name);
    case RollbackTarget::Kind::back:
      return detail::counted(target.back, "checkpoint") + " before the newest";
  }
  return "a checkpoint";
}

}  // namespace

RecoveryAction RecoveryAction::retry(std::string hint, Duration delay) {
  RecoveryAction action{.kind = Kind::retry, .hint = std::move(hint)};
  action.delay = delay;
  return action;
}

RecoveryAction RecoveryAction::replan(std::string hint) {
  return {.kind = Kind::replan, .hint = std::move(hint)};
}

RecoveryAction RecoveryAction::rollback(RollbackTarget target) {
  RecoveryAction action{.kind = Kind::rollback};
  action.target = std::move(target);
  return action;
}

RecoveryAction RecoveryAction::resume(std::string subgoal, std::string hint) {
  return {.kind = Kind::resume, .hint = std::move(hint), .subgoal = std::move(subgoal)};
}

RecoveryAction RecoveryAction::escalate(std::string message) {
  RecoveryAction action{.kind = Kind::escalate};
  action.message = std::move(message);
  return action;
}

RecoveryAction RecoveryAction::suspend(std::string message) {
  RecoveryAction action{.kind = Kind::suspend};
  action.message = std::move(message);
  return action;
}

RecoveryAction RecoveryAction::abort(std::string reason) {
  RecoveryAction action{.kind = Kind::abort};
  action.message = std::move(reason);
  return action;
}

RecoveryAction RecoveryAction::fallback(nlohmann::json value) {
  RecoveryAction action{.kind = Kind::fallback};
  action.value = std::make_shared<const Json>(std::move(value));
  return action;
}

std::string_view to_string(RecoveryAction::Kind kind) noexcept {
  switch (kind) {
    case RecoveryAction::Kind::retry: return "retry";
    case RecoveryAction::Kind::replan: return "replan";
    case RecoveryAction::Kind::rollback: return "rollback";
    case RecoveryAction::Kind::resume: return "resume";
    case RecoveryAction::Kind::escalate: return "escalate";
    case RecoveryAction::Kind::suspend: return "suspend";
    case RecoveryAction::Kind::abort: return "abort";
    case RecoveryAction::Kind::fallback: return "fallback";
  }
  return "unknown";
}

std::optional<RecoveryAction::Kind> parse_recovery_kind(std::string_view name) noexcept {
  const auto* found = std::find_if(all_kinds.begin(), all_kinds.end(),
                                   [&](auto kind) { return to_string(kind) == name; });
  if (found == all_kinds.end()) return std::nullopt;
  return *found;
}

const std::vector<std::string>& detail::action_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const RecoveryAction::Kind kind : all_kinds) all.emplace_back(to_string(kind));
    return all;
  }();
  return names;
}

namespace {

// "2.5 s", "20 min 30 s", "1 h", "2 d 3 h".
std::string wait_text(Duration wait) {
  using namespace std::chrono;
  if (wait < minutes(16)) {  // Three digits are precise enough.
    char text[48];
    std::snprintf(text, sizeof text, "%.3g s", duration<double>(wait).count());
    return text;
  }
  const seconds whole = wait < hours(1) ? round<seconds>(wait) : round<minutes>(wait);
  const std::pair<std::int64_t, const char*> parts[] = {{whole / days(1), " d"},
                                                        {whole % days(1) / hours(1), " h"},
                                                        {whole % hours(1) / minutes(1), " min"},
                                                        {(whole % minutes(1)).count(), " s"}};
  std::string text;
  int shown = 0;
  for (const auto& [number, unit] : parts) {
    if (number == 0 || shown == 2) continue;
    text += (text.empty() ? "" : " ") + std::to_string(number) + unit;
    ++shown;
  }
  return text;
}

}  // namespace

std::string describe(const RecoveryAction& action) {
  std::string text(to_string(action.kind));
  if (action.kind == RecoveryAction::Kind::rollback)
    text += " to " + describe_target(action.target);
  if (action.delay > Duration::zero()) {
    text += " after " + wait_text(action.delay);
  }
  if (!action.subgoal.empty()) text += " from subgoal \"" + printable(action.subgoal) + "\"";
  if (!action.hint.empty()) text += " (hint: " + printable(action.hint) + ")";
  std::string_view message = action.message;
  if (constexpr std::string_view again = "escalated: "; message.starts_with(again)) {
    if (action.kind == RecoveryAction::Kind::escalate) message.remove_prefix(again.size());
  }
  if (!message.empty()) text += ": " + printable(message);
  return text;
}

int FailureContext::previous(FailureType type) const noexcept {
  const auto is_refusal = [](const HistoryEntry& entry) { return entry.refused; };
  const auto counts = [&](const HistoryEntry& entry) {
    return entry.type == type && entry.refused == refused;
  };
  const auto from = refused ? std::find_if_not(history.rbegin(), history.rend(), is_refusal).base()
                            : history.begin();
  return static_cast<int>(std::count_if(from, history.end(), counts));
}

Strategy Strategy::invalid(std::string description, std::string problem) {
  Strategy strategy(std::move(description), Function{});
  strategy.problem_ = std::move(problem);
  strategy.decide_ = [text = strategy.description_ + " cannot decide: " + strategy.problem_](
                         const FailureContext&) { return RecoveryAction::escalate(text); };
  return strategy;
}

FailurePolicy& FailurePolicy::on(FailureType type, Strategy strategy) {
  by_type_[static_cast<std::size_t>(type)] = std::move(strategy);
  return *this;
}

FailurePolicy& FailurePolicy::otherwise(Strategy strategy) {
  default_ = std::move(strategy);
  return *this;
}

FailurePolicy& FailurePolicy::when(Predicate predicate, Strategy strategy, std::string name) {
  conditions_.push_back({std::move(name), std::move(predicate), std::move(strategy)});
  return *this;
}

FailurePolicy::Predicate exception_is(std::string name) {
  return [name = std::move(name)](const FailureContext& context) {
    const std::string_view type = context.exception_type;
    if (!type.ends_with(name)) return false;
    const std::size_t scope = type.size() - name.size();
    return !name.empty() && (scope == 0 || type[scope - 1] == '.' || type[scope - 1] == ':');
  };
}

const Strategy* FailurePolicy::resolve(FailureType type) const noexcept {
  const Strategy& own = by_type_[static_cast<std::size_t>(type)];
  if (own) return &own;
  return default_ ? &default_ : nullptr;
}

const Strategy& FailurePolicy::own(FailureType type) const noexcept {
  return by_type_[static_cast<std::size_t>(type)];
}

RecoveryAction FailurePolicy::decide(const FailureContext& context) const {
  for (const Condition& one : conditions_) {
    if (one.predicate(context)) return one.strategy(context);
  }
  if (const Strategy* strategy = resolve(context.type())) return (*strategy)(context);
  return RecoveryAction::escalate("no strategy is set for " +
                                  std::string(to_string(context.type())) +
                                  "; a person has to look at it");
}

std::string FailurePolicy::describe() const {
  std::string text;
  for (const Condition& one : conditions_) {
    text += "when " + one.name + ": " + one.strategy.description() + "\n";
  }
  for (const FailureType type : all_failure_types) {
    const Strategy* strategy = resolve(type);
    text += std::string(to_string(type)) + ": " +
            (strategy == nullptr ? "escalate (no strategy)" : strategy->description()) + "\n";
  }
  return text;
}

namespace {

// A strategy set for one type, for one condition or as the default, with its display name.
struct NamedStrategy {
  std::string name;
  const Strategy* strategy;
};

std::vector<NamedStrategy> strategies_of(const FailurePolicy& policy) {
  std::vector<NamedStrategy> all;
  for (const FailureType type : all_failure_types) {
    all.push_back({std::string(to_string(type)), &policy.own(type)});
  }
  for (const FailurePolicy::Condition& one : policy.conditions()) {
    all.push_back({"when " + one.name, &one.strategy});
  }
  all.push_back({"default", &policy.by_default()});
  return all;
}

}  // namespace

Result<void> check_policy(const FailurePolicy& policy) {
  for (const auto& [name, strategy] : strategies_of(policy)) {
    const std::string where = "the policy's strategy for " + name;
    if (!*strategy && !strategy->description().empty()) {
      return Error{Errc::invalid_argument,
                   where + ", " + strategy->description() +
                       ", has a null function; give it one that can be called"};
    }
    if (!strategy->problem().empty()) {
      return Error{Errc::invalid_argument,
                   where + ", " + strategy->description() + ": " + strategy->problem()};
    }
  }
  for (const FailurePolicy::Condition& one : policy.conditions()) {
    if (one.predicate && one.strategy) continue;
    return Error{Errc::invalid_argument, "the policy's condition \"" + printable(one.name) +
                                             "\" has a null " +
                                             (one.predicate ? "strategy" : "predicate")};
  }
  return outcome::success();
}

std::vector<std::string> unreachable_settings(const FailurePolicy& policy, const Limits& limits) {
  const bool in_total = limits.max_attempts < limits.max_attempts_per_type;
  const int allowed = in_total ? limits.max_attempts : limits.max_attempts_per_type;
  std::vector<std::string> warnings;
  for (const auto& [name, strategy] : strategies_of(policy)) {
    if (strategy->max_attempts() <= allowed) continue;
    warnings.push_back(name + ": " + strategy->description() + " is made for " +
                       detail::counted(strategy->max_attempts(), "attempt") + ", but limits." +
                       (in_total ? "max_attempts" : "max_attempts_per_type") +
                       " ends the run after " + std::to_string(allowed));
  }
  return warnings;
}

}  // namespace triage::inline v0_1
