// SPDX-License-Identifier: MIT
#include "plan_patch.hpp"
#include "base/json_words.hpp"
#include "members.hpp"
#include "triage/detail/counted.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

Error wrong_patch(const std::string& text) {
  return {Errc::invalid_argument, "the plan patch is refused: " + text};
}

constexpr std::size_t longest_task_id = 128;

Result<void> check_kinds(const Json& patch) {
  if (const auto odd = unknown_member(patch, "it", {"add", "retarget", "supersede"})) {
    return wrong_patch(*odd);
  }
  for (const auto& [member, type] : {std::pair<const char*, const char*>{"add", "array"},
                                     {"retarget", "object"},
                                     {"supersede", "array"}}) {
    const auto found = patch.find(member);
    if (found == patch.end() || found->is_null() || found->type_name() == std::string_view(type)) {
      continue;
    }
    return wrong_patch("\"" + std::string(member) + "\" is " + show(*found).substr(0, 100) +
                       "; allowed is an " + type);
  }
  return outcome::success();
}

// Missing and null are the same.
Json member_of(const Json& patch, const char* name, Json otherwise) {
  const auto found = patch.find(name);
  return found == patch.end() || found->is_null() ? std::move(otherwise) : *found;
}

// The first circle among new tasks, as "a -> b -> a"; empty if there is none. Others cannot come to
// depend on a new one.
std::string find_circle(const PlannedTasks& added) {
  std::map<std::string, std::vector<std::string>> after;
  std::map<std::string, std::size_t> left;
  std::vector<std::string> next;
  for (const auto& [id, task] : added) {
    for (const std::string& need : names_in(task.at("depends_on"))) {
      if (!added.contains(need)) continue;
      after[need].push_back(id);
      ++left[id];
    }
    if (!left.contains(id)) next.push_back(id);
  }
  while (!next.empty()) {
    const std::string id = std::move(next.back());
    next.pop_back();
    for (const std::string& one : after[id]) {
      if (--left[one] == 0) next.push_back(one);
    }
  }
  // What still waits is in a circle, or after one.
  const auto waits = [&](const std::string& id) { return left.contains(id) && left[id] > 0; };
  const auto first =
      std::find_if(added.begin(), added.end(), [&](const auto& one) { return waits(one.first); });
  if (first == added.end()) return {};
  std::vector<std::string> way{first->first};
  for (std::set<std::string> seen; seen.insert(way.back()).second;) {
    const std::vector<std::string> needs = names_in(added.at(way.back()).at("depends_on"));
    way.push_back(*std::find_if(needs.begin(), needs.end(), waits));
  }
  std::string circle = way.back();
  for (auto one = std::find(way.begin(), way.end(), way.back()) + 1; one != way.end(); ++one) {
    circle += " -> " + *one;
  }
  return circle;
}

// What may be meant by a task: those of the plan and the patch's own.
std::vector<std::string> all_tasks(const PlanRules& rules, const PlanPatch& patch) {
  std::vector<std::string> all(rules.tasks.begin(), rules.tasks.end());
  all.insert(all.end(), patch.order.begin(), patch.order.end());
  return all;
}

bool is_known(const std::string& task, const PlanRules& rules, const PlanPatch& patch) {
  return rules.tasks.contains(task) || patch.added.contains(task);
}

Result<void> check_changeable(const std::string& id, const PlanRules& rules,
                              const PlanPatch& patch) {
  if (!is_known(id, rules, patch)) {
    return wrong_patch("task \"" + printable(id) + "\"" +
                       triage::detail::allowed_names(id, all_tasks(rules, patch)));
  }
  std::string status = patch.added.contains(id) ? "pending" : rules.status(id);
  if (patch.superseded.contains(id)) status = "skipped";
  if (status == "pending") return outcome::success();
  return wrong_patch("task \"" + id + "\" is " + status + "; only pending ones can be changed");
}

Result<void> check_assignee(const std::string& id, const std::string& assignee,
                            const PlanRules& rules) {
  if (std::find(rules.agents.begin(), rules.agents.end(), assignee) != rules.agents.end()) {
    return outcome::success();
  }
  return wrong_patch("task \"" + id + "\" is for \"" + printable(assignee) + "\"" +
                     triage::detail::allowed_names(assignee, rules.agents));
}

Result<void> read_added(const Json& task, const PlanRules& rules, PlanPatch& patch) {
  if (!task.is_object() || !task.contains("id") || !task["id"].is_string()) {
    return wrong_patch("a task has no id: " + show(task).substr(0, 100));
  }
  const auto id = task["id"].get<std::string>();
  if (is_known(id, rules, patch))
    return wrong_patch("task \"" + printable(id) + "\" is twice there");
  if (id.empty() || id.size() > longest_task_id || triage::detail::is_reserved(id)) {
    return wrong_patch("task id \"" + printable(id) +
                       "\" is not allowed: an id has 1 to 128 bytes and does not begin with "
                       "\"triage/\"");
  }
  if (const auto odd = unknown_member(task, "task \"" + printable(id) + "\"",
                                      {"id", "description", "depends_on", "assignee"})) {
    return wrong_patch(*odd);
  }
  try {
    patch.added[id] =
        Json{{"description", member_of(task, "description", "").get<std::string>()},
             {"depends_on",
              member_of(task, "depends_on", Json::array()).get<std::vector<std::string>>()},
             {"assignee", member_of(task, "assignee", rules.agents.front()).get<std::string>()}};
  } catch (const std::exception& e) {
    return wrong_patch("task \"" + id +
                       "\" is not readable: " + triage::detail::json_words(e.what()));
  }
  patch.order.push_back(id);
  return outcome::success();
}

Result<void> check_added(const PlanRules& rules, const PlanPatch& patch) {
  const std::size_t count = rules.tasks.size() + patch.added.size();
  if (count > static_cast<std::size_t>(rules.limits.max_tasks)) {
    return wrong_patch("it makes " + triage::detail::counted(count, "task") + "; allowed are " +
                       std::to_string(rules.limits.max_tasks));
  }
  for (const auto& [id, task] : patch.added) {
    TRIAGE_TRYV(check_assignee(id, task.at("assignee").get<std::string>(), rules));
    const std::vector<std::string> needs = names_in(task.at("depends_on"));
    if (const auto twice = named_twice(needs)) {
      return wrong_patch("task \"" + id + "\" depends on \"" + printable(*twice) + "\" twice");
    }
    for (const std::string& need : needs) {
      if (is_known(need, rules, patch)) continue;
      return wrong_patch("task \"" + id + "\" depends on \"" + printable(need) + "\"" +
                         triage::detail::allowed_names(need, all_tasks(rules, patch)));
    }
  }
  if (const std::string circle = find_circle(patch.added); !circle.empty()) {
    return wrong_patch("its tasks depend on each other in a circle: " + circle);
  }
  return outcome::success();
}

}  // namespace

std::vector<std::string> names_in(const Json& list) {
  return list.is_null() ? std::vector<std::string>() : list.get<std::vector<std::string>>();
}

Result<PlanPatch> read_patch(const Json& json, PlanRules rules) {
  if (!json.is_object())
    return wrong_patch("it is " + show(json).substr(0, 100) + "; allowed is an object");
  TRIAGE_TRYV(check_kinds(json));
  PlanPatch patch;
  for (const Json& task : member_of(json, "add", Json::array())) {
    TRIAGE_TRYV(read_added(task, rules, patch));
  }
  const Json retarget = member_of(json, "retarget", Json::object());
  for (const auto& [id, agent] : retarget.items()) {
    TRIAGE_TRYV(check_changeable(id, rules, patch));
    if (!agent.is_string()) {
      return wrong_patch("task \"" + id + "\" is retargeted to " + show(agent).substr(0, 100) +
                         "; allowed is an agent's name");
    }
    TRIAGE_TRYV(check_assignee(id, agent.get<std::string>(), rules));
    if (const auto added = patch.added.find(id); added != patch.added.end()) {
      added->second["assignee"] = agent;
    } else {
      patch.retargeted[id] = agent.get<std::string>();
    }
  }
  for (const Json& one : member_of(json, "supersede", Json::array())) {
    if (!one.is_string()) return wrong_patch("what is superseded is not a name: " + show(one));
    TRIAGE_TRYV(check_changeable(one.get<std::string>(), rules, patch));
    patch.superseded.insert(one.get<std::string>());
  }
  TRIAGE_TRYV(check_added(rules, patch));
  return outcome::success(std::move(patch));
}

}  // namespace triage::inline v0_1::workflow::detail
