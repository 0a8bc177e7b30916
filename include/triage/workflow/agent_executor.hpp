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

// The run of an agent that one delivery leads to: the same again when the delivery is called again.
struct NestedRun {
  RunId id{};  // Empty: the workflow has no store.
  RunOptions options{};
};
[[nodiscard]] NestedRun nested_run(Context& context, const Json& task);

}  // namespace detail

// What the agent is given is its task, what it returns is sent. With a store, its run is one of its
// own in the workflow's store, below the workflow's run: cut off, it goes on where it was. The
// agent's policy, limits, budgets and gates hold as ever; a run that ended in a failure is revived
// when the delivery is tried again. Needs a task and a value with conversions to and from JSON.
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
