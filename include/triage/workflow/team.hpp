// SPDX-License-Identifier: MIT
#pragma once
// Team: a coordinator who plans, agents who work, and somebody who puts the results together.

#include "triage/workflow/task_graph.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

struct TeamLimits {
  int max_tasks = 100;  // In the whole run; 1 or more.
  int max_patches = 5;  // That change the plan, the first one included; 1 or more.
};

// What the coordinator is asked: first about the goal, then about each task that failed.
struct TeamQuestion {
  Json goal{};           // The run's inputs.
  std::string failed{};  // A task; empty at first.
  std::string why{};     // It failed.
  std::vector<TaskOutput> done{};
};

// The coordinator answers with a patch: {"add": [{"id", "description", "depends_on", "assignee"}],
// "retarget": {TASK: AGENT}, "supersede": [TASK]}. A patch that names what is not there, makes a
// circle, touches a task that has begun or goes beyond the limits fails the run, and nothing of it
// is done. An accepted one is stored before what it adds begins.
class Team {
 public:
  using Coordinator = std::function<Json(const TeamQuestion&, Context&)>;
  using Synthesis = std::function<Json(const std::vector<TaskOutput>&, Context&)>;
  using Work = std::function<Json(const TaskInput&, Context&)>;

  explicit Team(std::string id, TeamLimits limits = {}) : id_(std::move(id)), limits_(limits) {}

  // An agent does one task at a time; different ones work at once.
  Team& agent(std::string name, Work work) {
    agents_.emplace_back(std::move(name), std::move(work));
    return *this;
  }
  Team& coordinator(Coordinator plan) {
    coordinator_ = std::move(plan);
    return *this;
  }
  // Makes the run's output of the outputs of all tasks. Without one the output is
  // {"outputs": {TASK: OUTPUT}, "failed": {TASK: WHY}}; so it is, with "synthesis_failed", if this
  // fails.
  Team& synthesis(Synthesis synthesis) {
    synthesis_ = std::move(synthesis);
    return *this;
  }

  // Errors: Errc::invalid_argument: no coordinator, no agents, limits below 1; those of
  // WorkflowBuilder::build().
  [[nodiscard]] Result<Workflow> build() const;

 private:
  std::string id_;
  TeamLimits limits_;
  std::vector<std::pair<std::string, Work>> agents_{};
  Coordinator coordinator_{};
  Synthesis synthesis_{};
};

}  // namespace triage::inline v0_1::workflow
