// SPDX-License-Identifier: MIT
#pragma once
// TaskGraph: tasks that depend on each other, as an eager workflow.

#include "triage/workflow/run.hpp"
#include "triage/workflow/workflow.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow {

struct TaskOutput {
  std::string task{};
  Json output{};
};

// Passed to an assignee.
struct TaskInput {
  std::string id{};
  std::string description{};
  std::vector<TaskOutput> context{};  // See TaskContext; in the order of the tasks.
  // Of a graph inside a workflow: what it was started with, for tasks without dependencies. The
  // run's inputs are in Context::input.
  Json message{};
};

// The tasks whose outputs a task sees.
enum class TaskContext : std::uint8_t {
  listed,  // Its depends_on.
  all,     // All its direct and indirect dependencies.
  none,
};
// What happens to the dependants of a failed task, or of one that was left out because of it.
enum class OnFailure : std::uint8_t {
  cascade,   // They fail too, without running, or are skipped, as the task was.
  skip,      // They are skipped.
  carry_on,  // They run without its output. Its failure is not the run's. "continue" in JSON.
};

enum class TaskStatus : std::uint8_t { pending, in_progress, completed, failed, blocked, skipped };
[[nodiscard]] std::string_view to_string(TaskStatus status) noexcept;

struct Task {
  std::string id{};
  std::string description{};
  std::vector<std::string> depends_on{};
  std::string assignee{};  // Empty: the graph's only agent.
  TaskContext context = TaskContext::listed;
  std::vector<std::string> context_from{};  // Replaces `listed`; tasks that come earlier.
  OnFailure on_failure = OnFailure::cascade;
  // False: the task is skipped, and its dependants run without it. Asked before each call of the
  // agent, also after an answer or before a retry. Not part of the JSON.
  std::function<bool(const TaskInput&)> condition{};
  // Retries and so on. The value of a FALLBACK is the task's output. Not part of the JSON.
  std::optional<FailurePolicy> policy{};
  Duration timeout{0};
  std::string version = "1";       // Part of the fingerprint.
  CheckpointChoice checkpoints{};  // Not part of the JSON, like the four before it.
};

struct TaskView {
  std::string id{};
  TaskStatus status = TaskStatus::blocked;
  Json output{};      // If completed.
  std::string why{};  // If failed or skipped.
};

using TaskWork = std::function<Result<Json>(const TaskInput&, Context&)>;

namespace detail {

// `work` takes (const TaskInput&, Context&) or (const TaskInput&) and returns a value that converts
// to JSON, or a Result of one.
template <class F>
TaskWork task_work(F work) {
  return [work = std::move(work)](const TaskInput& task, Context& context) -> Result<Json> {
    const auto call = [&] {
      if constexpr (std::is_invocable_v<const F&, const TaskInput&, Context&>) {
        return work(task, context);
      } else {
        return work(task);
      }
    };
    using Returned = std::remove_cvref_t<decltype(call())>;
    if constexpr (triage::detail::Unwrapped<Returned>::is_result) {
      Returned done = call();
      if (!done) return std::move(done).error();
      return Json(std::move(done).value());
    } else {
      return Json(call());
    }
  };
}

}  // namespace detail

// Collects tasks and agents; build() makes a Workflow in which each task is an executor with its
// id. Its outputs are how the tasks ended on which no other depends: {"task", "status"}, with
// "output" if completed, else "why"; inside a workflow, the next executor gets each of them.
class TaskGraph {
 public:
  // options: all but schedule, max_supersteps and deliver_inputs, which are the graph's. Inside a
  // workflow, only that one's max_supersteps counts.
  explicit TaskGraph(std::string id, WorkflowOptions options = {})
      : id_(std::move(id)), options_(std::move(options)) {}

  // `work` takes (const TaskInput&, Context&) or (const TaskInput&) and returns a value that
  // converts to JSON, or a Result of one. It must hold no state of the run. At most `capacity` of
  // its tasks run at once; 0: any number. Tasks that a manager gives away do not count.
  template <class F>
  TaskGraph& agent(std::string name, F work, std::size_t capacity = 0) {
    if (capacity > 0) capacities_[name] = capacity;
    if (agents_.contains(name)) twice_ = name;
    agents_[std::move(name)] = detail::task_work(std::move(work));
    return *this;
  }
  TaskGraph& task(Task task) {
    tasks_.push_back(std::move(task));
    return *this;
  }
  // Declares a port for Context::request: an agent may ask a person.
  template <JsonReadable Answer>
  TaskGraph& port(std::string name) {
    ports_.push_back([name = std::move(name)](WorkflowBuilder& to) { to.port<Answer>(name); });
    return *this;
  }
  // Chooses the agent for a task without an assignee, by name. Called in an effect, once per task
  // and message to the graph.
  TaskGraph& manager(std::function<std::string(const TaskInput&)> choose) {
    manager_ = std::move(choose);
    return *this;
  }
  // Adds the tasks of a plan in the format of json(). Errors: Errc::invalid_argument, naming the
  // task, the field and what is allowed.
  Result<void> plan(const Json& plan);
  // {"tasks": [{"id", "description", "depends_on", "assignee", "context", "on_failure"}]};
  // "context" is "listed", "all", "none", or a list: Task::context_from.
  [[nodiscard]] Json json() const;

  // Errors: Errc::invalid_argument for a cycle (with its path), a task that depends on itself or on
  // an unknown task, a context of one that does not come before it, a task, a dependency, a context
  // or an agent that is twice there, an unknown assignee; and those of WorkflowBuilder::build().
  [[nodiscard]] Result<Workflow> build() const;
  // The progress of a run, from its store if it has one; may be called while the run is in progress
  // (in_progress: running in this object). In the order of the tasks. inside: the path of this
  // graph in the run's workflow; empty: it is the workflow.
  [[nodiscard]] Result<std::vector<TaskView>> tasks(const WorkflowRun& run,
                                                    std::string_view inside = {}) const;

 private:
  using Work = TaskWork;
  [[nodiscard]] Result<void> check() const;
  [[nodiscard]] Work worker(const Task& task) const;  // Empty: no agent.

  std::string id_;
  WorkflowOptions options_;
  std::vector<std::function<void(WorkflowBuilder&)>> ports_{};
  std::vector<Task> tasks_{};
  std::map<std::string, Work, std::less<>> agents_{};
  std::string twice_{};  // An agent's name.
  std::map<std::string, std::size_t> capacities_{};
  std::function<std::string(const TaskInput&)> manager_{};
};

}  // namespace triage::inline v0_1::workflow
