// SPDX-License-Identifier: MIT
#include "triage/workflow/crew.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

Error wrong_task(const std::string& task, const std::string& why) {
  return {Errc::invalid_argument, "task \"" + printable(task) + "\" " + why};
}

}  // namespace

Result<TaskGraph> Crew::graph() const {
  TaskGraph graph = graph_;
  if (manager_) graph.manager(manager_);
  std::vector<std::string> before;  // All tasks so far.
  std::vector<std::string> open;    // Async ones that nothing has joined yet.
  std::string last;                 // The last one that is not async.
  for (const CrewTask& task : tasks_) {
    if (task.condition && (task.async || before.empty())) {
      return wrong_task(task.id,
                        "has a condition, which the first task and async ones cannot have");
    }
    Task planned{.id = task.id,
                 .description = task.description,
                 .assignee = task.agent,
                 .context = TaskContext::all,
                 .condition = task.condition,
                 .policy = task.policy,
                 .checkpoints = task.checkpoints};
    if (!last.empty()) planned.depends_on.push_back(last);
    if (!task.async) planned.depends_on.insert(planned.depends_on.end(), open.begin(), open.end());
    if (task.async) planned.context = TaskContext::listed;
    if (task.context) {
      for (const std::string& one : *task.context) {
        if (std::find(before.begin(), before.end(), one) == before.end()) {
          return wrong_task(task.id, "has the context \"" + printable(one) +
                                         "\", which is not a task that comes before it");
        }
        if (task.async && std::find(open.begin(), open.end(), one) != open.end()) {
          return wrong_task(task.id, "is async, and so is \"" + printable(one) +
                                         "\" in its context: nobody waits for that");
        }
      }
      planned.context = task.context->empty() ? TaskContext::none : TaskContext::listed;
      planned.context_from = *task.context;
    }
    before.push_back(task.id);
    if (task.async) {
      open.push_back(task.id);
    } else {
      open.clear();
      last = task.id;
    }
    graph.task(std::move(planned));
  }
  if (open.size() > 1) {
    return wrong_task(
        open.back(), "is async at the end, and so is \"" + open.front() + "\"; at most one may be");
  }
  return outcome::success(std::move(graph));
}

Result<Workflow> Crew::build() const {
  TRIAGE_TRY(tasks, graph());
  return tasks.build();
}

Result<std::vector<TaskView>> Crew::tasks(const WorkflowRun& run, std::string_view inside) const {
  TRIAGE_TRY(tasks, graph());
  return tasks.tasks(run, inside);
}

}  // namespace triage::inline v0_1::workflow
