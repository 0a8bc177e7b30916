// SPDX-License-Identifier: MIT
#pragma once
// Crew: agents who do tasks one after another, as a task graph.

#include "triage/workflow/task_graph.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

struct CrewTask {
  std::string id{};
  std::string description{};
  std::string agent{};  // Under a manager: empty.
  // Begins after the last task that is not async, and is waited for by the next such one.
  bool async = false;
  // Whose outputs it sees; nothing: of all tasks so far, an async one of the last that is not.
  std::optional<std::vector<std::string>> context{};
  std::function<bool(const TaskInput&)> condition{};  // False: it is skipped. Not for async tasks.
  std::optional<FailurePolicy> policy{};
};

class Crew {
 public:
  // Who does a task: the name of an agent.
  using Manager = std::function<std::string(const TaskInput&)>;

  explicit Crew(std::string id) : graph_(std::move(id)) {}

  // See TaskGraph::agent.
  template <class F>
  Crew& agent(std::string name, F work) {
    graph_.agent(std::move(name), std::move(work));
    return *this;
  }
  // Hierarchical: the manager is asked about every task, in an effect, so once.
  Crew& manager(Manager choose) {
    manager_ = std::move(choose);
    return *this;
  }
  Crew& task(CrewTask task) {
    tasks_.push_back(std::move(task));
    return *this;
  }

  // Errors: Errc::invalid_argument: a condition on the first or an async task, a context that names
  // a task that does not come before, an async task that does not run alone at the end; those of
  // TaskGraph::build().
  [[nodiscard]] Result<Workflow> build() const;
  // As TaskGraph::tasks.
  [[nodiscard]] Result<std::vector<TaskView>> tasks(const WorkflowRun& run) const;

 private:
  [[nodiscard]] Result<TaskGraph> graph() const;
  TaskGraph graph_;
  Manager manager_{};
  std::vector<CrewTask> tasks_{};
};

}  // namespace triage::inline v0_1::workflow
