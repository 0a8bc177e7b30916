// SPDX-License-Identifier: MIT
#pragma once
// Team: a coordinator that plans, agents that work, and a synthesis of the results.

#include "triage/workflow/task_graph.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

struct TeamLimits {
  int max_tasks = 100;  // For each goal; 1 or more.
  int max_patches = 5;  // For each goal: the first plan, its changes, and refused ones; 1 or more.
};

// A question to the coordinator: first about the goal, then about each failed task.
struct TeamQuestion {
  Json goal{};           // The run's inputs; inside a workflow, the message.
  std::string failed{};  // A task; empty in the first question.
  std::string why{};     // The reason for the failure.
  std::vector<TaskOutput> done{};
  std::string refused{};  // Why the patch before, an answer to the same question, was refused.
};

// The coordinator answers with a patch: {"add": [{"id", "description", "depends_on", "assignee"}],
// "retarget": {TASK: AGENT}, "supersede": [TASK]}. Nothing of a patch is applied if it names
// unknown things, or a dependency of a task twice, makes a cycle, touches a task that has started
// or exceeds the limits: the coordinator is asked again, and the run fails when max_patches are
// used up. An accepted patch is stored before its tasks start. Inside a workflow, each message is a
// goal with a plan of its own.
//
// It works in supersteps: all tasks that are ready are handed out together, and those that depend
// on them start when all have ended; until then an open question holds up the others. Each task of
// a chain takes two supersteps, which inside a workflow are that one's.
class Team {
 public:
  using Coordinator = std::function<Json(const TeamQuestion&, Context&)>;
  using Synthesis = std::function<Json(const std::vector<TaskOutput>&, Context&)>;
  using Work = TaskWork;

  // options: all but schedule and max_supersteps, which are the team's. The defaults are for the
  // agents, the coordinator and the synthesis. The value of a FALLBACK is the output of an agent's
  // task, the coordinator's patch, or the output of the synthesis.
  explicit Team(std::string id, TeamLimits limits = {}, WorkflowOptions options = {})
      : id_(std::move(id)), limits_(limits), options_(std::move(options)) {}

  // `work` as in TaskGraph::agent. Each agent does one task at a time; several agents work in
  // parallel. What the policy leaves of a failure fails the task: an exception, an error, a
  // timeout, or an output that cannot be stored. Errc::cancelled and Errc::suspended end the run,
  // which goes on with the task. An agent is one executor: the keys of its effects must differ from
  // task to task, TaskInput::id + "/search", and from goal to goal: Context::occurrence().
  template <class F>
  Team& agent(std::string name, F work) {
    agents_.emplace_back(std::move(name), detail::task_work(std::move(work)));
    return *this;
  }
  // Declares a port for Context::request: everybody here may ask a person.
  template <JsonReadable Answer>
  Team& port(std::string name) {
    ports_.push_back([name = std::move(name)](WorkflowBuilder& to) { to.port<Answer>(name); });
    return *this;
  }
  Team& coordinator(Coordinator plan) {
    coordinator_ = std::move(plan);
    return *this;
  }
  // Makes the run's output from the outputs of all tasks. Without a synthesis the output is
  // {"outputs": {TASK: OUTPUT}, "failed": {TASK: WHY}}; if it fails, the same with
  // "synthesis_failed".
  Team& synthesis(Synthesis synthesis) {
    synthesis_ = std::move(synthesis);
    return *this;
  }

  // Errors: Errc::invalid_argument: no coordinator, no agents, two of one name, limits below 1;
  // those of WorkflowBuilder::build().
  [[nodiscard]] Result<Workflow> build() const;

 private:
  std::string id_;
  TeamLimits limits_;
  WorkflowOptions options_;
  std::vector<std::function<void(WorkflowBuilder&)>> ports_{};
  std::vector<std::pair<std::string, Work>> agents_{};
  Coordinator coordinator_{};
  Synthesis synthesis_{};
};

}  // namespace triage::inline v0_1::workflow
