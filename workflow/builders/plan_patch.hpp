// SPDX-License-Identifier: MIT
#pragma once
// What a coordinator wants to change of a plan: read and checked as a whole, before any of it is
// done.

#include "triage/workflow/team.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// {description, depends_on, assignee} by task.
using PlannedTasks = std::map<std::string, Json>;

struct PlanPatch {
  std::vector<std::string> order{};  // Of the new tasks.
  PlannedTasks added{};
  std::map<std::string, std::string> retargeted{};  // Tasks that were there before.
  std::set<std::string> superseded{};
};

// What a patch is checked against.
struct PlanRules {
  const std::vector<std::string>& agents;
  const TeamLimits& limits;
  std::set<std::string> tasks{};                            // Those that there are.
  std::function<std::string(const std::string&)> status{};  // Of one of them.
};

// Errors: Errc::invalid_argument, naming the problem.
[[nodiscard]] Result<PlanPatch> read_patch(const Json& json, PlanRules rules);

// The names in a list that may be null.
[[nodiscard]] std::vector<std::string> names_in(const Json& list);

}  // namespace triage::inline v0_1::workflow::detail
