// SPDX-License-Identifier: MIT
// A crew: two notes taken at once, an article made of both, and a manager. Usage: workflow_crew
#include <triage/workflow/crew.hpp>

#include <iostream>

namespace wf = triage::workflow;

int main() {
  wf::Crew crew("magazine");
  const auto work = [](const char* verb) {
    return [verb](const wf::TaskInput& task) {
      std::string text = std::string(verb) + " " + task.description;
      for (const wf::TaskOutput& before : task.context) text += " after " + before.task;
      return text;
    };
  };
  crew.agent("reporter", work("reported"))
      .agent("editor", work("edited"))
      .manager([](const wf::TaskInput& task) {
        return std::string(task.id == "article" ? "editor" : "reporter");
      })
      .task({.id = "plan", .description = "the issue"})
      .task({.id = "east", .description = "the east", .async = true})
      .task({.id = "west", .description = "the west", .async = true})
      .task({.id = "article", .description = "the article"})
      .task({.id = "errata", .description = "errata", .condition = [](const wf::TaskInput& task) {
               return task.context.size() > 9;
             }});
  const auto workflow = crew.build();
  if (!workflow) return 1;
  wf::WorkflowRun run(workflow.value());
  const auto done = run.run({{"month", "May"}});
  const auto tasks = crew.tasks(run);
  if (!done || !tasks) return 1;
  for (const wf::TaskView& task : tasks.value()) {
    std::cout << task.id << ": " << to_string(task.status) << ' '
              << (task.output.is_null() ? task.why : task.output.dump()) << '\n';
  }
}
