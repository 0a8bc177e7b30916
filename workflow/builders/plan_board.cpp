// SPDX-License-Identifier: MIT
#include "plan_board.hpp"
#include "base/json_words.hpp"
#include "base/nearest.hpp"
#include "members.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

Error wrong_patch(const std::string& text) {
  return {Errc::invalid_argument, "the plan patch is refused: " + text};
}

bool is(const Json& task, const char* status) { return task.at("status") == status; }

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

std::string task_key(const std::string& task) { return "task:" + task; }

// Of what belongs to a goal: the first one's has no prefix.
std::string key_of(int goal, const std::string& name) {
  return goal == 1 ? name : std::to_string(goal) + "/" + name;
}

}  // namespace

PlanBoard::PlanBoard(Context& context, const std::vector<std::string>& agents,
                     const TeamLimits& limits, int goal)
    : context_(context), state_(context.state()), agents_(agents), limits_(limits), goal_(goal) {
  order_ = state_.value(key("order"), std::vector<std::string>());
  patches_ = state_.value(key("patches"), 0);
  questions_ = state_.value(key("questions"), 0);
  for (const std::string& task : order_) tasks_[task] = *state_.find(key(task_key(task)));
}

std::string PlanBoard::goal_key(int goal) { return key_of(goal, "goal"); }
std::string PlanBoard::key(const std::string& name) const { return key_of(goal_, name); }

void PlanBoard::set(const std::string& task, Json value) {
  state_.set(key(task_key(task)), value);
  tasks_[task] = std::move(value);
}

Result<void> PlanBoard::add(const Json& task, Tasks& tasks, std::vector<std::string>& order) const {
  if (!task.is_object() || !task.contains("id") || !task["id"].is_string()) {
    return wrong_patch("a task has no id: " + show(task).substr(0, 100));
  }
  const auto id = task["id"].get<std::string>();
  if (tasks.contains(id)) return wrong_patch("task \"" + printable(id) + "\" is twice there");
  if (id.empty() || id.size() > longest_task_id || id.rfind("triage/", 0) == 0) {
    return wrong_patch("task id \"" + printable(id) +
                       "\" is not allowed: an id has 1 to 128 bytes and does not begin with "
                       "\"triage/\"");
  }
  if (const auto odd = unknown_member(task, "task \"" + printable(id) + "\"",
                                      {"id", "description", "depends_on", "assignee"})) {
    return wrong_patch(*odd);
  }
  try {
    tasks[id] = Json{{"description", task.value("description", std::string())},
                     {"depends_on", task.value("depends_on", std::vector<std::string>())},
                     {"assignee", task.value("assignee", agents_.front())},
                     {"status", "pending"}};
  } catch (const std::exception& e) {
    return wrong_patch("task \"" + id +
                       "\" is not readable: " + triage::detail::json_words(e.what()));
  }
  order.push_back(id);
  return outcome::success();
}

Result<void> PlanBoard::check(const Tasks& tasks, std::size_t count) const {
  if (count > static_cast<std::size_t>(limits_.max_tasks)) {
    return wrong_patch("it makes " + std::to_string(count) + " tasks; allowed are " +
                       std::to_string(limits_.max_tasks));
  }
  std::vector<std::string> ids;
  for (const auto& [id, task] : tasks) ids.push_back(id);
  std::map<std::string, std::set<std::string>> open;
  for (const auto& [id, task] : tasks) {
    const auto assignee = task.at("assignee").get<std::string>();
    if (std::find(agents_.begin(), agents_.end(), assignee) == agents_.end()) {
      return wrong_patch("task \"" + id + "\" is for \"" + printable(assignee) + "\"" +
                         triage::detail::allowed_names(assignee, agents_));
    }
    for (const Json& before : task.at("depends_on")) {
      const auto need = before.get<std::string>();
      if (!tasks.contains(need)) {
        return wrong_patch("task \"" + id + "\" depends on \"" + printable(need) + "\"" +
                           triage::detail::allowed_names(need, ids));
      }
      open[id].insert(need);
    }
  }
  // Anything without an order is in a cycle, or after one.
  std::set<std::string> placed;
  for (bool grown = true; grown;) {
    grown = false;
    for (const std::string& id : ids) {
      const auto& needs = open[id];
      if (placed.contains(id) ||
          !std::all_of(needs.begin(), needs.end(),
                       [&](const std::string& need) { return placed.contains(need); })) {
        continue;
      }
      grown = placed.insert(id).second;
    }
  }
  for (const std::string& id : ids) {
    if (placed.contains(id)) continue;
    std::vector<std::string> way{id};
    while (std::find(way.begin(), way.end() - 1, way.back()) == way.end() - 1) {
      const auto& needs = open[way.back()];
      way.push_back(*std::find_if(needs.begin(), needs.end(),
                                  [&](const std::string& need) { return !placed.contains(need); }));
    }
    std::string circle = way.back();
    for (auto one = std::find(way.begin(), way.end(), way.back()) + 1; one != way.end(); ++one) {
      circle += " -> " + *one;
    }
    return wrong_patch("its tasks depend on each other in a circle: " + circle);
  }
  return outcome::success();
}

Result<void> PlanBoard::apply(const Json& patch, const std::string& about) {
  if (!patch.is_object())
    return wrong_patch("it is " + show(patch).substr(0, 100) + "; allowed is an object");
  TRIAGE_TRYV(check_kinds(patch));
  Tasks tasks = tasks_;
  std::vector<std::string> order = order_;
  for (const Json& task : member_of(patch, "add", Json::array())) {
    TRIAGE_TRYV(add(task, tasks, order));
  }
  const auto pending = [&](const std::string& id) -> Result<void> {
    const auto found = tasks.find(id);
    if (found == tasks.end()) {
      return wrong_patch("task \"" + printable(id) + "\"" +
                         triage::detail::allowed_names(id, order));
    }
    if (is(found->second, "pending")) return outcome::success();
    return wrong_patch("task \"" + id + "\" is " + found->second.at("status").get<std::string>() +
                       "; only pending ones can be changed");
  };
  const Json retarget = member_of(patch, "retarget", Json::object());
  for (const auto& [id, agent] : retarget.items()) {
    TRIAGE_TRYV(pending(id));
    if (!agent.is_string()) {
      return wrong_patch("task \"" + id + "\" is retargeted to " + show(agent).substr(0, 100) +
                         "; allowed is an agent's name");
    }
    tasks[id]["assignee"] = agent;
  }
  for (const Json& one : member_of(patch, "supersede", Json::array())) {
    if (!one.is_string()) return wrong_patch("what is superseded is not a name: " + show(one));
    const auto id = one.get<std::string>();
    TRIAGE_TRYV(pending(id));
    tasks[id]["status"] = "skipped";
  }
  TRIAGE_TRYV(check(tasks, order.size()));
  if (const auto answered = tasks.find(about); answered != tasks.end()) {
    answered->second.erase("asked");
  }
  for (auto& [id, task] : tasks) {
    const auto before = tasks_.find(id);
    if (before == tasks_.end() || before->second != task) set(id, task);
  }
  order_ = std::move(order);
  state_.set(key("order"), order_);
  state_.set(key("patches"), ++patches_);
  if (questions_ > 0) state_.set(key("questions"), --questions_);
  // Failed tasks that no patch bypasses or will bypass.
  for (const std::string& id : order_) {
    if (is(tasks_[id], "failed") && !tasks_[id].contains("asked")) give_up_on(id);
  }
  return outcome::success();
}

void PlanBoard::complete(const std::string& task, const Json& output) {
  Json done = tasks_.at(task);
  done["status"] = "completed";
  done["output"] = output;
  set(task, std::move(done));
}

void PlanBoard::fail(const std::string& task, const std::string& why) {
  Json failed = tasks_.at(task);
  failed["status"] = "failed";
  failed["why"] = why;
  set(task, std::move(failed));
}

void PlanBoard::give_up_on(const std::string& task) {
  for (const std::string& id : order_) {
    const Json& needs = tasks_[id].at("depends_on");
    if (!is(tasks_[id], "pending") || std::find(needs.begin(), needs.end(), task) == needs.end()) {
      continue;
    }
    fail(id, "task \"" + task + "\" failed");
    give_up_on(id);
  }
}

Json PlanBoard::outputs_before(const Json& task) const {
  Json outputs = Json::array();
  for (const Json& before : task.at("depends_on")) {
    const Json& one = tasks_.at(before.get<std::string>());
    if (is(one, "completed")) outputs.push_back({{"task", before}, {"output", one.at("output")}});
  }
  return outputs;
}

Json PlanBoard::question(const std::string& task, const std::string& why) {
  state_.set(key("questions"), ++questions_);
  Json asked = tasks_.at(task);
  asked["asked"] = true;
  set(task, std::move(asked));
  return asking(task, why);
}

// The question is open, unless it was the first patch, which nobody had asked for.
bool PlanBoard::may_ask_again() const {
  return patches_ + 1 + std::max(questions_, 1) <= limits_.max_patches;
}

Json PlanBoard::question_again(const std::string& about, const std::string& refused) {
  state_.set(key("patches"), ++patches_);
  if (questions_ == 0) state_.set(key("questions"), ++questions_);
  Json asked = asking(about, about.empty() ? "" : tasks_.at(about).value("why", std::string()));
  asked["refused"] = refused;
  return asked;
}

Json PlanBoard::asking(const std::string& task, const std::string& why) const {
  Json done = Json::array();
  for (const std::string& id : order_) {
    const Json& one = tasks_.at(id);
    if (is(one, "completed")) done.push_back({{"task", id}, {"output", one.at("output")}});
  }
  const auto goal = context_.shared("team").find(goal_key(goal_));
  return {{"triage.failed", task}, {"why", why}, {"done", done}, {"goal", goal ? *goal : Json()}};
}

std::vector<Json> PlanBoard::take_ready() {
  std::vector<Json> orders;
  for (const std::string& id : order_) {
    Json task = tasks_[id];
    const Json needs = task.at("depends_on");
    const bool ready =
        is(task, "pending") && std::all_of(needs.begin(), needs.end(), [&](const Json& before) {
          const Json& one = tasks_.at(before.get<std::string>());
          return is(one, "completed") || is(one, "skipped");
        });
    if (!ready) continue;
    orders.push_back({{"task", id},
                      {"description", task.at("description")},
                      {"assignee", task.at("assignee")},
                      {"context", outputs_before(task)}});
    task["status"] = "in_progress";
    set(id, std::move(task));
  }
  return orders;
}

bool PlanBoard::finished() const {
  return questions_ == 0 && std::none_of(tasks_.begin(), tasks_.end(), [](const auto& one) {
           return is(one.second, "pending") || is(one.second, "in_progress");
         });
}

Json PlanBoard::results() const {
  Json outputs = Json::object();
  Json failed = Json::object();
  for (const auto& [id, task] : tasks_) {
    if (is(task, "completed")) outputs[id] = task.at("output");
    if (is(task, "failed")) failed[id] = task.at("why");
  }
  return {{"outputs", std::move(outputs)}, {"failed", std::move(failed)}};
}

}  // namespace triage::inline v0_1::workflow::detail
