// SPDX-License-Identifier: MIT
#pragma once
// A team's current plan for a goal: tasks are added, retargeted and superseded while others run. It
// is kept in its executor's private state, with a key for each task.

#include "triage/workflow/team.hpp"

#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

class PlanBoard {
 public:
  // goal: its number, from 1.
  PlanBoard(Context& context, const std::vector<std::string>& agents, const TeamLimits& limits,
            int goal);
  // Where the goal is in the team's shared state.
  [[nodiscard]] static std::string goal_key(int goal);

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
  // The same after a patch that was refused, which counts; about: as of apply().
  [[nodiscard]] bool may_ask_again() const;
  [[nodiscard]] Json question_again(const std::string& about, const std::string& refused);

  // Orders for agents, which count as begun.
  [[nodiscard]] std::vector<Json> take_ready();
  [[nodiscard]] bool finished() const;
  [[nodiscard]] Json results() const;

 private:
  using Tasks = std::map<std::string, Json>;  // {description, depends_on, assignee, status, …}
  [[nodiscard]] Result<void> add(const Json& task, Tasks& tasks,
                                 std::vector<std::string>& order) const;
  [[nodiscard]] Result<void> check(const Tasks& tasks, std::size_t count) const;
  [[nodiscard]] std::string key(const std::string& name) const;
  void set(const std::string& task, Json value);
  [[nodiscard]] Json asking(const std::string& task, const std::string& why) const;
  [[nodiscard]] Json outputs_before(const Json& task) const;

  Context& context_;
  Scope state_;
  const std::vector<std::string>& agents_;
  const TeamLimits& limits_;
  const int goal_;
  std::vector<std::string> order_{};
  Tasks tasks_{};
  int patches_ = 0;
  int questions_ = 0;  // Unanswered.
};

}  // namespace triage::inline v0_1::workflow::detail
