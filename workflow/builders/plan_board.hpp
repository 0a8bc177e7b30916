// SPDX-License-Identifier: MIT
#pragma once
// A team's current plan: tasks are added, retargeted and superseded while others run. It is kept in
// its executor's private state, with a key for each task.

#include "triage/workflow/team.hpp"

#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

class PlanBoard {
 public:
  PlanBoard(Context& context, const std::vector<std::string>& agents, const TeamLimits& limits);

  // Applies a whole patch or nothing. about: the failed task that the coordinator was asked about;
  // empty: none. Errors: Errc::invalid_argument, naming the problem.
  [[nodiscard]] Result<void> apply(const Json& patch, const std::string& about);
  void complete(const std::string& task, const Json& output);
  void fail(const std::string& task, const std::string& why);
  // Fails everything that depends on a failed task and has not begun.
  void give_up_on(const std::string& task);
  // Whether the coordinator may be asked again: each open question will bring a patch, too.
  [[nodiscard]] bool may_change() const { return patches_ + questions_ < limits_.max_patches; }
  // The question for the coordinator; the plan is not finished before it is answered.
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
  int questions_ = 0;  // Unanswered.
};

}  // namespace triage::inline v0_1::workflow::detail
