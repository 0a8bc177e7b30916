// SPDX-License-Identifier: MIT
#include "plan_board.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

// Of what belongs to a goal: the first one's has no prefix.
std::string key_of(int goal, const std::string& name) {
  return goal == 1 ? name : std::to_string(goal) + "/" + name;
}

}  // namespace

PlanBoard::PlanBoard(Context& context, const std::vector<std::string>& agents,
                     const TeamLimits& limits, int goal)
    : context_(context), state_(context.state()), agents_(agents), limits_(limits), goal_(goal) {}

std::string PlanBoard::goal_key(int goal) { return key_of(goal, "goal"); }

const Json& PlanBoard::get(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) return known->second;
  const auto stored = state_.find(key_of(goal_, name));
  return known_[name] = stored ? *stored : Json();
}

void PlanBoard::set(const std::string& name, Json value) {
  state_.set(key_of(goal_, name), value);
  known_[name] = std::move(value);
}

int PlanBoard::number(const std::string& name) {
  const Json& value = get(name);
  return value.is_null() ? 0 : value.get<int>();
}

void PlanBoard::add_to(const std::string& name, int change) {
  if (change != 0) set(name, number(name) + change);
}

std::vector<std::string> PlanBoard::order() { return names_in(get("order")); }

std::string PlanBoard::status(const std::string& task) {
  const Json& state = get("state:" + task);
  return state.is_object() ? state.at("status").get<std::string>() : "pending";
}

bool PlanBoard::has_failed_for_good(const std::string& task) {
  return status(task) == "failed" && !get("state:" + task).contains("asked");
}

void PlanBoard::place(const PlanPatch& patch) {
  std::map<std::string, Json> after;
  for (const std::string& id : patch.order) {  // Nothing can be stored of them.
    known_["state:" + id] = known_["after:" + id] = Json();
  }
  for (const std::string& id : patch.order) {
    const Json& task = patch.added.at(id);
    set("task:" + id, task);
    const std::vector<std::string> needs = names_in(task.at("depends_on"));
    std::size_t left = 0;
    for (const std::string& need : needs) {
      after.try_emplace(need, get("after:" + need)).first->second.push_back(id);
      if (!is_satisfied(need)) ++left;
    }
    if (left == 0) ready_.push_back(id);
    if (left != needs.size()) set("state:" + id, left);
  }
  for (auto& [id, followers] : after) set("after:" + id, std::move(followers));
  add_to("open", static_cast<int>(patch.order.size()));
}

std::size_t PlanBoard::left(const std::string& task) {
  const Json& state = get("state:" + task);
  return state.is_number() ? state.get<std::size_t>() : get("task:" + task).at("depends_on").size();
}

bool PlanBoard::is_satisfied(const std::string& task) {
  return status(task) == "completed" || status(task) == "skipped";
}

void PlanBoard::end(const std::string& task, Json how) {
  set("state:" + task, std::move(how));
  add_to("open", -1);
  if (!is_satisfied(task)) return;
  for (const std::string& id : names_in(get("after:" + task))) {
    if (status(id) != "pending") continue;
    const std::size_t rest = left(id) - 1;
    set("state:" + id, rest);
    if (rest == 0) ready_.push_back(id);
  }
}

void PlanBoard::complete(const std::string& task, const Json& output) {
  end(task, {{"status", "completed"}, {"output", output}});
}

void PlanBoard::fail(const std::string& task, const std::string& why) {
  end(task, {{"status", "failed"}, {"why", why}});
}

void PlanBoard::give_up_on(const std::string& task) {
  std::vector<std::string> failed{task};
  while (!failed.empty()) {
    const std::string before = std::move(failed.back());
    failed.pop_back();
    for (const std::string& id : names_in(get("after:" + before))) {
      if (status(id) != "pending") continue;
      fail(id, "task \"" + before + "\" failed");
      failed.push_back(id);
    }
  }
}

Result<void> PlanBoard::apply(const Json& json, const std::string& about) {
  const std::vector<std::string> before = order();
  TRIAGE_TRY(patch, read_patch(json, {.agents = agents_,
                                      .limits = limits_,
                                      .tasks = {before.begin(), before.end()},
                                      .status = [&](const auto& task) { return status(task); }}));
  place(patch);
  for (const auto& [id, agent] : patch.retargeted) {
    Json task = get("task:" + id);
    task["assignee"] = agent;
    set("task:" + id, std::move(task));
  }
  for (const std::string& id : patch.superseded) end(id, {{"status", "skipped"}});
  if (!patch.order.empty()) {
    std::vector<std::string> all = before;
    all.insert(all.end(), patch.order.begin(), patch.order.end());
    set("order", std::move(all));
  }
  add_to("patches", 1);
  add_to("questions", number("questions") > 0 ? -1 : 0);
  if (!about.empty()) {
    Json answered = get("state:" + about);
    answered.erase("asked");
    set("state:" + about, std::move(answered));
    give_up_on(about);  // What the patch has not superseded.
  }
  for (const std::string& id : patch.order) {
    if (status(id) != "pending") continue;
    const std::vector<std::string> needs = names_in(patch.added.at(id).at("depends_on"));
    const auto failed = std::find_if(needs.begin(), needs.end(), [&](const std::string& need) {
      return has_failed_for_good(need);
    });
    if (failed == needs.end()) continue;
    fail(id, "task \"" + *failed + "\" failed");
    give_up_on(id);
  }
  return outcome::success();
}

Json PlanBoard::outputs_of(const std::vector<std::string>& tasks) {
  Json outputs = Json::array();
  for (const std::string& id : tasks) {
    if (status(id) != "completed") continue;
    outputs.push_back({{"task", id}, {"output", get("state:" + id).at("output")}});
  }
  return outputs;
}

bool PlanBoard::may_change() {
  return number("patches") + number("questions") < limits_.max_patches;
}

Json PlanBoard::question(const std::string& task, const std::string& why) {
  add_to("questions", 1);
  Json asked = get("state:" + task);
  asked["asked"] = true;
  set("state:" + task, std::move(asked));
  return asking(task, why);
}

// The question is open, unless it was the first patch, which nobody had asked for.
bool PlanBoard::may_ask_again() {
  return number("patches") + 1 + std::max(number("questions"), 1) <= limits_.max_patches;
}

Json PlanBoard::question_again(const std::string& about, const std::string& refused) {
  add_to("patches", 1);
  add_to("questions", number("questions") == 0 ? 1 : 0);
  Json asked =
      asking(about, about.empty() ? "" : get("state:" + about).value("why", std::string()));
  asked["refused"] = refused;
  return asked;
}

Json PlanBoard::asking(const std::string& task, const std::string& why) {
  const auto goal = context_.shared("team").find(goal_key(goal_));
  return {{"triage.failed", task},
          {"why", why},
          {"done", outputs_of(order())},
          {"goal", goal ? *goal : Json()}};
}

std::vector<Json> PlanBoard::take_ready() {
  std::vector<Json> orders;
  for (const std::string& id : std::exchange(ready_, {})) {
    if (status(id) != "pending") continue;
    const Json& task = get("task:" + id);
    orders.push_back({{"task", id},
                      {"description", task.at("description")},
                      {"assignee", task.at("assignee")},
                      {"context", outputs_of(names_in(task.at("depends_on")))}});
    set("state:" + id, {{"status", "in_progress"}});
  }
  return orders;
}

bool PlanBoard::finished() { return number("open") == 0 && number("questions") == 0; }

Json PlanBoard::results() {
  Json outputs = Json::object();
  Json failed = Json::object();
  for (const std::string& id : order()) {
    const Json& state = get("state:" + id);
    if (status(id) == "completed") outputs[id] = state.at("output");
    if (status(id) == "failed") failed[id] = state.at("why");
  }
  return {{"outputs", std::move(outputs)}, {"failed", std::move(failed)}};
}

}  // namespace triage::inline v0_1::workflow::detail
