// SPDX-License-Identifier: MIT
// A task list as JSON: who does what after what, with statuses at the end. Usage: workflow_tasks
#include <triage/workflow/task_graph.hpp>

#include <iostream>

namespace wf = triage::workflow;

int main() {
  wf::TaskGraph graph("report");
  graph.agent("writer", [](const wf::TaskInput& task) { return "text on " + task.description; })
      .agent("clerk", [](const wf::TaskInput& task) -> std::string {
        if (task.id == "fax") throw std::runtime_error("no paper");
        return std::to_string(task.context.size()) + " parts bound";
      });
  const auto planned = graph.plan(triage::Json::parse(R"({"tasks": [
    {"id": "intro", "description": "tea",  "assignee": "writer"},
    {"id": "body",  "description": "leaves", "assignee": "writer"},
    {"id": "bind",  "depends_on": ["intro", "body"], "assignee": "clerk"},
    {"id": "fax",   "depends_on": ["bind"], "assignee": "clerk", "on_failure": "skip"},
    {"id": "file",  "depends_on": ["fax"], "assignee": "clerk"}]})"));
  const auto workflow = graph.build();
  if (!planned || !workflow) return 1;
  wf::WorkflowRun run(workflow.value());
  const auto done = run.run({{"goal", "a report"}});
  const auto tasks = graph.tasks(run);
  if (!tasks) return 1;
  for (const wf::TaskView& task : tasks.value()) {
    std::cout << task.id << ": " << to_string(task.status) << ' '
              << (task.output.is_null() ? task.why : task.output.dump()) << '\n';
  }
  return done ? 0 : 5;  // 5: a task failed.
}
