// SPDX-License-Identifier: MIT
// How far the tasks of a graph are.
#include "definition/halt.hpp"
#include "definition/task_outputs.hpp"
#include "journal/suspension_json.hpp"
#include "records/values.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/task_graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {

using triage::detail::text_field;

namespace {

// A task that is tried again has not ended, nor have those after it, whatever is stored of them.
void leave_out_outdated(const std::vector<Task>& tasks, std::set<std::string, std::less<>> outdated,
                        std::map<std::string, const DeliveryView*, std::less<>>& by_task) {
  for (std::size_t before = 0; before != outdated.size();) {
    before = outdated.size();
    for (const Task& task : tasks) {
      const bool follows = std::any_of(task.depends_on.begin(), task.depends_on.end(),
                                       [&](const auto& one) { return outdated.contains(one); });
      if (follows) outdated.insert(task.id);
    }
  }
  for (const std::string& task : outdated) by_task.erase(task);
}

}  // namespace

Result<std::vector<TaskView>> TaskGraph::tasks(const WorkflowRun& run,
                                               std::string_view inside) const {
  TRIAGE_TRY(deliveries, run.deliveries());
  TRIAGE_TRY(state, run.state());
  const std::string prefix = inside.empty() ? "" : std::string(inside) + "/";
  // Of the newest message: those that are at work, have begun, and have ended.
  int newest = 0;
  for (const DeliveryView& one : deliveries) {
    if (one.executor.rfind(prefix, 0) == 0) newest = std::max(newest, one.occurrence);
  }
  std::set<std::string, std::less<>> at_work;
  std::set<std::string, std::less<>> begun;
  std::map<std::string, const DeliveryView*, std::less<>> by_task;
  for (const DeliveryView& one : deliveries) {
    if (one.executor.rfind(prefix, 0) != 0) continue;
    const std::string task = one.executor.substr(prefix.size());
    if (one.how == Ran::at_work) at_work.insert(task);
    if (one.occurrence < newest) continue;
    if (one.how != Ran::pending && one.how != Ran::skipped) begun.insert(task);
    if (one.how == Ran::done || one.how == Ran::reused) by_task[task] = &one;
  }
  leave_out_outdated(tasks_, at_work, by_task);
  const std::string scope = detail::shared_scope(std::string(inside), detail::task_outputs_scope);
  const Json outputs = state.is_object() ? state.value(scope, Json::object()) : Json::object();
  std::vector<TaskView> views;
  for (const Task& task : tasks_) {
    TaskView view{.id = task.id};
    if (const auto found = by_task.find(task.id); found != by_task.end()) {
      for (const Json& sent : found->second->sent) {
        const std::string status = text_field(sent, "status");
        for (const TaskStatus one :
             {TaskStatus::completed, TaskStatus::failed, TaskStatus::skipped}) {
          if (status == to_string(one)) view.status = one;
        }
        view.why = text_field(sent, "why");
      }
      if (view.status == TaskStatus::completed) {
        const std::string key = detail::task_output_key(task.id, found->second->occurrence);
        const bool is_null = outputs.contains(detail::null_output_key(key));
        view.output = outputs.value(key, is_null ? Json() : outputs.value(task.id, Json()));
      }
    }
    views.push_back(std::move(view));
  }
  TRIAGE_TRY(stopped, run.stopped());
  const bool skips = stopped && stopped->how != StopKind::paused;
  for (TaskView& view : views) {
    if (view.status != TaskStatus::blocked) continue;
    if (skips && !begun.contains(view.id)) {
      view.status = TaskStatus::skipped;
      view.why = detail::what_stopped(*stopped);
      continue;
    }
    const Task& task = tasks_[static_cast<std::size_t>(&view - views.data())];
    const bool ready =
        std::all_of(task.depends_on.begin(), task.depends_on.end(),
                    [&](const std::string& before) { return by_task.contains(before); });
    if (ready) view.status = TaskStatus::pending;
    if (at_work.contains(view.id)) view.status = TaskStatus::in_progress;
  }
  return outcome::success(std::move(views));
}

}  // namespace triage::inline v0_1::workflow
