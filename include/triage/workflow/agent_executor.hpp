// SPDX-License-Identifier: MIT
#pragma once
// A TriageAgent as an executor of a workflow.

#include "triage/agent.hpp"
#include "triage/workflow/executor.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace triage::inline v0_1::workflow {

namespace detail {

// The run of an agent for one delivery, the same when the delivery is repeated.
struct NestedRun {
  RunId id{};  // Empty: the workflow has no store.
  RunOptions options{};
};
[[nodiscard]] NestedRun nested_run(Context& context, const Json& task);

}  // namespace detail

// A message is the agent's task, and its result is sent. With a store, it has its own run in the
// workflow's store, below the workflow's run, which is continued after an interruption. The agent's
// own policy, limits, budgets and gates apply; a run that failed is revived when the delivery is
// retried. Needs a task and a value with conversions to and from JSON.
template <class F, class Task>
[[nodiscard]] auto agent_executor(std::shared_ptr<const TriageAgent<F, Task>> agent) {
  using Value = typename TriageAgent<F, Task>::Value;
  static_assert(JsonConvertible<Task>,
                "triage: the agent's task needs conversions to JSON and back");
  return stateless([agent = std::move(agent)](const Task& task, Context& context) -> Result<Value> {
    const detail::NestedRun nested = detail::nested_run(context, Json(task));
    if (nested.id.empty()) return agent->run(task, nested.options);
    return agent->run_or_resume(nested.id, task, {.run = nested.options, .revive = true});
  });
}
template <class F, class Task>
[[nodiscard]] auto agent_executor(TriageAgent<F, Task> agent) {
  return agent_executor(std::make_shared<const TriageAgent<F, Task>>(std::move(agent)));
}

}  // namespace triage::inline v0_1::workflow
