// SPDX-License-Identifier: MIT
#pragma once
// The plan of a team, as it stands: tasks that are added, retargeted and superseded while others
// run. It lives in the private state of the executor that holds it, a key for each task.

#include "triage/workflow/team.hpp"

#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

class PlanBoard {
 public:
  PlanBoard(Context& context, const std::vector<std::string>& agents, const TeamLimits& limits);

  // All of a patch or nothing. Errors: Errc::invalid_argument, naming what is wrong.
  [[nodiscard]] Result<void> apply(const Json& patch);
  void complete(const std::string& task, const Json& output);
  void fail(const std::string& task, const std::string& why);
  // What depends on a task that failed, and has not begun, fails too.
  void give_up_on(const std::string& task);
  // Whether the coordinator may be asked once more.
  [[nodiscard]] bool may_change() const { return patches_ < limits_.max_patches; }
  // What it is asked; the plan is not finished before it has answered.
  [[nodiscard]] Json question(const std::string& task, const std::string& why);

  // Orders for agents, which count as begun.
  [[nodiscard]] std::vector<Json> take_ready();
  [[nodiscard]] bool finished() const;
  [[nodiscard]] Json results() const;

 private:
  using Tasks = std::map<std::string, Json>;  // {description, depends_on, assignee, status, …}
  [[nodiscard]] Result<void> add(const Json& task, Tasks& tasks,
                                 std::vector<std::string>& order) const;
  [[nodiscard]] Result<void> check(const Tasks& tasks, std::size_t count) const;
  void set(const std::string& task, Json value);
  [[nodiscard]] Json outputs_before(const Json& task) const;

  Context& context_;
  Scope state_;
  const std::vector<std::string>& agents_;
  const TeamLimits& limits_;
  std::vector<std::string> order_{};
  Tasks tasks_{};
  int patches_ = 0;
  int questions_ = 0;  // That are open.
};

}  // namespace triage::inline v0_1::workflow::detail
