// SPDX-License-Identifier: MIT
#pragma once
// Crew: agents that do tasks one after another, as a task graph.

#include "triage/workflow/task_graph.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

struct CrewTask {
  std::string id{};
  std::string description{};
  std::string agent{};  // Empty: the one that the manager chooses, or the only one.
  // Starts after the last non-async task; the next non-async task waits for it.
  bool async = false;
  // Whose outputs it sees; empty: all earlier tasks', or for an async task the last non-async
  // one's.
  std::optional<std::vector<std::string>> context{};
  std::function<bool(const TaskInput&)> condition{};  // False: skipped. Not for async tasks.
  std::optional<FailurePolicy> policy{};
  CheckpointChoice checkpoints{};
};

class Crew {
 public:
  // Chooses the agent for a task, by name.
  using Manager = std::function<std::string(const TaskInput&)>;

  // options: see TaskGraph.
  explicit Crew(std::string id, WorkflowOptions options = {})
      : graph_(std::move(id), std::move(options)) {}

  // See TaskGraph::agent.
  template <class F>
  Crew& agent(std::string name, F work) {
    graph_.agent(std::move(name), std::move(work));
    return *this;
  }
  // See TaskGraph::port.
  template <JsonReadable Answer>
  Crew& port(std::string name) {
    graph_.port<Answer>(std::move(name));
    return *this;
  }
  // Hierarchical: the manager chooses for every task that names no agent, in an effect, so once per
  // message to the crew.
  Crew& manager(Manager choose) {
    manager_ = std::move(choose);
    return *this;
  }
  Crew& task(CrewTask task) {
    tasks_.push_back(std::move(task));
    return *this;
  }

  // Errors: Errc::invalid_argument for a condition on the first or an async task, a context that
  // names a task that does not come before, or an async task at the end that is not alone; those of
  // TaskGraph::build().
  [[nodiscard]] Result<Workflow> build() const;
  // See TaskGraph::tasks.
  [[nodiscard]] Result<std::vector<TaskView>> tasks(const WorkflowRun& run,
                                                    std::string_view inside = {}) const;

 private:
  [[nodiscard]] Result<TaskGraph> graph() const;
  TaskGraph graph_;
  Manager manager_{};
  std::vector<CrewTask> tasks_{};
};

}  // namespace triage::inline v0_1::workflow
