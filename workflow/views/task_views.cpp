// SPDX-License-Identifier: MIT
// How far the tasks of a graph are.
#include "definition/halt.hpp"
#include "definition/task_outputs.hpp"
#include "records/values.hpp"
#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/task_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {

using triage::detail::text_field;

namespace {

using TaskNames = std::set<std::string, std::less<>>;

// What is known of the newest message to the tasks.
struct KnownTasks {
  TaskNames at_work{};
  TaskNames begun{};
  std::map<std::string, const DeliveryView*, std::less<>> ended{};
};

KnownTasks known_tasks(const std::vector<DeliveryView>& deliveries, const std::string& prefix) {
  int newest = 0;
  for (const DeliveryView& one : deliveries) {
    if (one.executor.rfind(prefix, 0) == 0) newest = std::max(newest, one.occurrence);
  }
  KnownTasks known;
  for (const DeliveryView& one : deliveries) {
    if (one.executor.rfind(prefix, 0) != 0) continue;
    const std::string task = one.executor.substr(prefix.size());
    if (one.how == Ran::at_work) known.at_work.insert(task);
    if (one.occurrence < newest) continue;
    if (one.how != Ran::pending && one.how != Ran::skipped) known.begun.insert(task);
    if (one.how == Ran::done || one.how == Ran::reused) known.ended[task] = &one;
  }
  return known;
}

// A task that is tried again has not ended, nor have those after it, whatever is stored of them.
void leave_out_outdated(const std::vector<Task>& tasks, KnownTasks& known) {
  std::map<std::string, std::vector<std::string>, std::less<>> after;
  for (const Task& task : tasks) {
    for (const std::string& before : task.depends_on) after[before].push_back(task.id);
  }
  TaskNames outdated = known.at_work;
  std::vector<std::string> to_follow(outdated.begin(), outdated.end());
  while (!to_follow.empty()) {
    const std::string task = std::move(to_follow.back());
    to_follow.pop_back();
    known.ended.erase(task);
    for (const std::string& next : after[task]) {
      if (outdated.insert(next).second) to_follow.push_back(next);
    }
  }
}

// outputs: those in the state.
TaskView view_of_ended(const std::string& id, const DeliveryView& ended, const Json& outputs) {
  TaskView view{.id = id};
  for (const Json& sent : ended.sent) {
    const std::string status = text_field(sent, "status");
    for (const TaskStatus one : {TaskStatus::completed, TaskStatus::failed, TaskStatus::skipped}) {
      if (status == to_string(one)) view.status = one;
    }
    view.why = text_field(sent, "why");
  }
  if (view.status == TaskStatus::completed) {
    const std::string key = detail::task_output_key(id, ended.occurrence);
    const bool is_null = outputs.contains(detail::null_output_key(key));
    view.output = outputs.value(key, is_null ? Json() : outputs.value(id, Json()));
  }
  return view;
}

// Why a task has not ended.
void look_ahead(const Task& task, const KnownTasks& known, const std::optional<Stopped>& stopped,
                TaskView& view) {
  const bool skips = stopped && stopped->how != StopKind::paused;
  if (skips && !known.begun.contains(task.id)) {
    view.status = TaskStatus::skipped;
    view.why = detail::what_stopped(*stopped);
    return;
  }
  const bool ready =
      std::all_of(task.depends_on.begin(), task.depends_on.end(),
                  [&](const std::string& before) { return known.ended.contains(before); });
  if (ready) view.status = TaskStatus::pending;
  if (known.at_work.contains(task.id)) view.status = TaskStatus::in_progress;
}

}  // namespace

Result<std::vector<TaskView>> TaskGraph::tasks(const WorkflowRun& run,
                                               std::string_view inside) const {
  TRIAGE_TRY(deliveries, run.deliveries());
  TRIAGE_TRY(state, run.state());
  TRIAGE_TRY(stopped, run.stopped());
  KnownTasks known = known_tasks(deliveries, inside.empty() ? "" : std::string(inside) + "/");
  leave_out_outdated(tasks_, known);
  const std::string scope = detail::shared_scope(std::string(inside), detail::task_outputs_scope);
  const Json outputs = state.is_object() ? state.value(scope, Json::object()) : Json::object();
  std::vector<TaskView> views;
  for (const Task& task : tasks_) {
    const auto ended = known.ended.find(task.id);
    TaskView view = ended != known.ended.end() ? view_of_ended(task.id, *ended->second, outputs)
                                               : TaskView{.id = task.id};
    if (view.status == TaskStatus::blocked) look_ahead(task, known, stopped, view);
    views.push_back(std::move(view));
  }
  return outcome::success(std::move(views));
}

}  // namespace triage::inline v0_1::workflow
