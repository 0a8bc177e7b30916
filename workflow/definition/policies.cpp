// SPDX-License-Identifier: MIT
// Which checkpoint policy applies to each executor, and whether its triggers can occur.
#include "checkpointer.hpp"
#include "triage/detail/try.hpp"

#include <array>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

constexpr std::array<std::string_view, 14> trigger_names{
    "run_started",        "superstep_ended",
    "task_started",       "task_completed",
    "task_failed",        "agent_step",
    "llm_call_completed", "tool_call_completed",
    "request_opened",     "response_accepted",
    "plan_patched",       "before_effect",
    "terminate_signal",   "all"};

}  // namespace

std::string_view to_string(CheckpointTrigger trigger) noexcept {
  return trigger_names[static_cast<std::size_t>(trigger)];
}
std::optional<CheckpointTrigger> parse_trigger(std::string_view name) noexcept {
  for (std::size_t i = 0; i < trigger_names.size(); ++i) {
    if (trigger_names[i] == name) return static_cast<CheckpointTrigger>(i);
  }
  return std::nullopt;
}

std::string_view to_string(WorkflowEventKind kind) noexcept {
  constexpr std::array<std::string_view, 21> names{"run_started",
                                                   "run_resumed",
                                                   "run_rolled_back",
                                                   "run_suspended",
                                                   "run_finished",
                                                   "run_stopped",
                                                   "executor_started",
                                                   "executor_completed",
                                                   "executor_failed",
                                                   "executor_reused",
                                                   "output",
                                                   "request_opened",
                                                   "request_answered",
                                                   "request_expired",
                                                   "superstep_completed",
                                                   "checkpoint_saved",
                                                   "resource_changed",
                                                   "checkpoint_save_failed",
                                                   "budget_spent",
                                                   "deadline_passed",
                                                   "join_left_waiting"};
  return names[static_cast<std::size_t>(kind)];
}

namespace detail {
namespace {

using Kind = CheckpointChoice::Kind;

// Why none of these executors can cause the trigger; null if one can.
const char* no_emitter(const Plan& plan, Schedule schedule, const std::vector<std::size_t>& nodes,
                       bool whole_run, CheckpointTrigger trigger) {
  bool context = false;
  bool asks = false;
  bool patches = false;
  for (const std::size_t node : nodes) {
    const NodeSpec& spec = *plan.nodes[node].spec;
    context |= spec.type.takes_context;
    asks |= spec.type.takes_context && !plan.scopes[plan.nodes[node].scope].spec->ports.empty();
    patches |= spec.options.patches_plan;
  }
  switch (trigger) {
    case CheckpointTrigger::run_started:
    case CheckpointTrigger::terminate_signal:
      return whole_run ? nullptr : "only the run as a whole starts and is stopped";
    case CheckpointTrigger::superstep_ended:
      return schedule == Schedule::eager ? "an eager workflow has no supersteps"
             : nodes.empty()             ? "no executor has this policy"
                                         : nullptr;
    case CheckpointTrigger::task_started:
    case CheckpointTrigger::task_completed:
    case CheckpointTrigger::task_failed:
      return nodes.empty() ? "no executor has this policy" : nullptr;
    case CheckpointTrigger::agent_step:
    case CheckpointTrigger::llm_call_completed:
    case CheckpointTrigger::tool_call_completed:
    case CheckpointTrigger::before_effect:
      return context ? nullptr : "no handler there takes a Context to record it with";
    case CheckpointTrigger::request_opened:
    case CheckpointTrigger::response_accepted:
      return asks ? nullptr : "no port is declared there, so nobody can be asked";
    case CheckpointTrigger::plan_patched: return patches ? nullptr : "nothing there changes a plan";
    case CheckpointTrigger::all: break;
  }
  return nullptr;
}

Result<void> check_policy(const Plan& plan, Schedule schedule, const Policies& policies,
                          std::size_t index) {
  const Policies::One& one = policies.all[index];
  if (one.policy.on.is_default() || one.policy.on.is_all()) return outcome::success();
  std::vector<std::size_t> nodes;
  for (std::size_t node = 0; node < policies.of_node.size(); ++node) {
    if (policies.of_node[node] == index) nodes.push_back(node);
  }
  for (int i = 0; i < static_cast<int>(CheckpointTrigger::all); ++i) {
    const auto trigger = static_cast<CheckpointTrigger>(i);
    if (!one.policy.on.contains(trigger)) continue;
    if (const char* why = no_emitter(plan, schedule, nodes, index == 0, trigger)) {
      return Error{Errc::invalid_argument, "the checkpoint policy of " + one.owner +
                                               " names the trigger \"" +
                                               std::string(to_string(trigger)) +
                                               "\", which nothing can pull there: " + why};
    }
  }
  return outcome::success();
}

}  // namespace

Result<Policies> policies_of(const Plan& plan, Schedule schedule,
                             const std::optional<CheckpointPolicy>& of_run) {
  Policies policies;
  const auto add = [&](const CheckpointPolicy& policy, const std::string& owner) {
    policies.all.push_back({policy, owner});
    return policies.all.size() - 1;
  };
  const auto choose = [&](const CheckpointChoice& choice, std::size_t around,
                          const std::string& path) {
    if (choice.kind() == Kind::off) return Policies::off;
    if (choice.kind() == Kind::inherit) return around;
    return add(choice.policy(), "executor \"" + path + "\"");
  };
  std::vector<std::size_t> of_scope;
  for (const PlanScope& scope : plan.scopes) {
    const auto& own = scope.spec->options.checkpoints;
    if (scope.parent < 0) {
      of_scope.push_back(add(of_run ? *of_run : own.value_or(CheckpointPolicy{}),
                             of_run ? "the run" : "workflow \"" + scope.spec->id + "\""));
      continue;
    }
    const CheckpointChoice& choice = scope.node->options.checkpoints;
    const std::size_t around = of_scope[static_cast<std::size_t>(scope.parent)];
    of_scope.push_back(choice.kind() == Kind::inherit && own
                           ? add(*own, "the workflow \"" + scope.path + "\"")
                           : choose(choice, around, scope.path));
  }
  for (const PlanNode& node : plan.nodes) {
    policies.of_node.push_back(
        choose(node.spec->options.checkpoints, of_scope[node.scope], node.path));
  }
  for (std::size_t i = 0; i < policies.all.size(); ++i) {
    TRIAGE_TRYV(check_policy(plan, schedule, policies, i));
  }
  const bool eager = schedule == Schedule::eager;
  for (std::size_t i = 0; i < policies.all.size(); ++i) {
    CheckpointTriggers& on = policies.all[i].policy.on;
    if (!on.is_default()) continue;
    on = i == 0 && !eager ? CheckpointTrigger::superstep_ended : CheckpointTrigger::task_completed;
  }
  return outcome::success(std::move(policies));
}

}  // namespace detail
}  // namespace triage::inline v0_1::workflow
