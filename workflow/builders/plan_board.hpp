// SPDX-License-Identifier: MIT
#pragma once
// A team's current plan for a goal: tasks are added, retargeted and superseded while others run. It
// is kept in its executor's private state. Each delivery reads and writes only what it is about,
// not the whole plan: "task:ID" is what the coordinator wants of a task, "state:ID" how far it is,
// "after:ID" lists the tasks that depend on it, and "open" counts those that have not ended. The
// state of a pending task is the number of tasks that it waits for; missing: all it depends on.

#include "plan_patch.hpp"

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
  [[nodiscard]] bool may_change();
  // The question for the coordinator; the plan is not finished before it is answered.
  [[nodiscard]] Json question(const std::string& task, const std::string& why);
  // The same after a patch that was refused, which counts; about: as of apply().
  [[nodiscard]] bool may_ask_again();
  [[nodiscard]] Json question_again(const std::string& about, const std::string& refused);

  // Orders for agents: tasks for which nothing is missing since this board was made, which count as
  // begun.
  [[nodiscard]] std::vector<Json> take_ready();
  [[nodiscard]] bool finished();
  [[nodiscard]] Json results();

 private:
  // Values of the state, as this delivery has left them; null if there is none.
  [[nodiscard]] const Json& get(const std::string& name);
  [[nodiscard]] int number(const std::string& name);
  [[nodiscard]] std::vector<std::string> order();
  void set(const std::string& name, Json value);
  void add_to(const std::string& name, int change);

  void place(const PlanPatch& patch);  // The new tasks.
  void end(const std::string& task, Json how);
  [[nodiscard]] std::string status(const std::string& task);
  [[nodiscard]] bool is_satisfied(const std::string& task);
  [[nodiscard]] std::size_t left(const std::string& task);
  [[nodiscard]] bool has_failed_for_good(const std::string& task);
  [[nodiscard]] Json asking(const std::string& task, const std::string& why);
  [[nodiscard]] Json outputs_of(const std::vector<std::string>& tasks);

  Context& context_;
  Scope state_;
  const std::vector<std::string>& agents_;
  const TeamLimits& limits_;
  const int goal_;
  std::map<std::string, Json> known_{};
  std::vector<std::string> ready_{};
};

}  // namespace triage::inline v0_1::workflow::detail
