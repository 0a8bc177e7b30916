// SPDX-License-Identifier: MIT
#include "triage/workflow/task_graph.hpp"
#include "base/json_words.hpp"
#include "base/nearest.hpp"
#include "halt.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

// Tasks send each other only how they ended. Outputs are stored once, in the shared state.
constexpr const char* outcome_type = "task";
constexpr const char* outputs_scope = "tasks";

Json ended(const std::string& task, TaskStatus status, const std::string& why = {}) {
  Json json{{"task", task}, {"status", to_string(status)}};
  if (!why.empty()) json["why"] = why;
  return json;
}

// Empty if it has none; a stored message may be damaged.
std::string text_in(const Json& message, const char* key) {
  const auto found = message.is_object() ? message.find(key) : message.end();
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Error wrong_graph(std::string text) { return {Errc::invalid_argument, std::move(text)}; }

constexpr std::pair<TaskContext, std::string_view> contexts[] = {
    {TaskContext::listed, "listed"}, {TaskContext::all, "all"}, {TaskContext::none, "none"}};
constexpr std::pair<OnFailure, std::string_view> failures[] = {
    {OnFailure::cascade, "cascade"}, {OnFailure::skip, "skip"}, {OnFailure::carry_on, "continue"}};

template <class T, std::size_t n>
std::string_view name_of(const std::pair<T, std::string_view> (&names)[n], T value) {
  for (const auto& [one, name] : names) {
    if (one == value) return name;
  }
  return {};
}

template <class T, std::size_t n>
Result<T> parse(const std::pair<T, std::string_view> (&names)[n], const std::string& name,
                const std::string& what) {
  std::vector<std::string> allowed;
  for (const auto& [one, known] : names) {
    if (known == name) return one;
    allowed.emplace_back(known);
  }
  return wrong_graph(what + " is \"" + printable(name) + "\"" +
                     triage::detail::allowed_names(name, allowed));
}

// The first cycle, as "a -> b -> a"; empty if there is none.
std::string find_cycle(const std::vector<Task>& tasks) {
  std::map<std::string, const Task*, std::less<>> by_id;
  for (const Task& task : tasks) by_id.emplace(task.id, &task);
  std::set<std::string> done;
  for (const Task& root : tasks) {
    std::vector<std::pair<const Task*, std::size_t>> path{{&root, 0}};
    std::set<std::string> on_path{root.id};
    while (!path.empty() && !done.contains(root.id)) {
      auto& [task, next] = path.back();
      if (next == task->depends_on.size() || done.contains(task->id)) {
        done.insert(task->id);
        on_path.erase(task->id);
        path.pop_back();
        continue;
      }
      const Task* below = by_id.at(task->depends_on[next++]);
      if (!on_path.insert(below->id).second) {
        std::string text = below->id;
        for (auto one = path.rbegin(); one != path.rend(); ++one) {
          text = one->first->id + " -> " + text;
          if (one->first == below) break;
        }
        return text;
      }
      path.emplace_back(below, 0);
    }
  }
  return {};
}

// The outcomes of a task's dependencies, in whatever form they are delivered.
std::vector<Json> outcomes_in(const Json& message) {
  if (message.is_array()) return {message.begin(), message.end()};
  if (message.is_object() && message.contains("task") && message.contains("status")) {
    return {message};
  }
  return {};  // The run's inputs.
}

// All direct and indirect dependencies, in the order of the tasks.
std::vector<std::string> ancestors(const std::vector<Task>& tasks, const Task& task) {
  std::map<std::string, const Task*, std::less<>> by_id;
  for (const Task& one : tasks) by_id.emplace(one.id, &one);
  std::set<std::string> seen;
  std::vector<std::string> next = task.depends_on;
  while (!next.empty()) {
    const std::string id = std::move(next.back());
    next.pop_back();
    if (!seen.insert(id).second) continue;
    const auto& further = by_id.at(id)->depends_on;
    next.insert(next.end(), further.begin(), further.end());
  }
  std::vector<std::string> ordered;
  for (const Task& one : tasks) {
    if (seen.contains(one.id)) ordered.push_back(one.id);
  }
  return ordered;
}

struct TaskMessage {
  static constexpr const char* message_type = outcome_type;
  Json json{};
  friend void to_json(Json& to, const TaskMessage& message) { to = message.json; }
};

}  // namespace

std::string_view to_string(TaskStatus status) noexcept {
  switch (status) {
    case TaskStatus::pending: return "pending";
    case TaskStatus::in_progress: return "in_progress";
    case TaskStatus::completed: return "completed";
    case TaskStatus::failed: return "failed";
    case TaskStatus::blocked: return "blocked";
    case TaskStatus::skipped: return "skipped";
  }
  return "blocked";
}

Result<void> TaskGraph::plan(const Json& plan) {
  if (!plan.is_object() || !plan.contains("tasks") || !plan["tasks"].is_array()) {
    return wrong_graph("a plan is an object with a list \"tasks\"; this is " +
                       show(plan).substr(0, 100));
  }
  std::vector<Task> added;
  for (const Json& json : plan["tasks"]) {
    const std::string which = "task " + std::to_string(added.size() + 1);
    try {
      Task task{.id = json.at("id").get<std::string>(),
                .description = json.value("description", std::string()),
                .depends_on = json.value("depends_on", std::vector<std::string>()),
                .assignee = json.value("assignee", std::string())};
      TRIAGE_TRY(context, parse(contexts, json.value("context", std::string("listed")),
                                which + ": context"));
      TRIAGE_TRY(failure, parse(failures, json.value("on_failure", std::string("cascade")),
                                which + ": on_failure"));
      task.context = context;
      task.on_failure = failure;
      added.push_back(std::move(task));
    } catch (const std::exception& e) {
      return wrong_graph(which +
                         " of the plan is not readable: " + triage::detail::json_words(e.what()));
    }
  }
  tasks_.insert(tasks_.end(), added.begin(), added.end());
  return outcome::success();
}

Json TaskGraph::json() const {
  Json tasks = Json::array();
  for (const Task& task : tasks_) {
    tasks.push_back({{"id", task.id},
                     {"description", task.description},
                     {"depends_on", task.depends_on},
                     {"assignee", task.assignee},
                     {"context", name_of(contexts, task.context)},
                     {"on_failure", name_of(failures, task.on_failure)}});
  }
  return {{"tasks", std::move(tasks)}};
}

TaskGraph::Work TaskGraph::worker(const Task& task) const {
  if (task.assignee.empty() && manager_) {
    return [choose = manager_, agents = agents_](const TaskInput& input,
                                                 Context& context) -> Result<Json> {
      const std::string who = context.effect("triage.manager", [&] { return choose(input); });
      const auto found = agents.find(who);
      if (found != agents.end()) return found->second(input, context);
      return wrong_graph("the manager gives task \"" + input.id + "\" to \"" + printable(who) +
                         "\", who is not known");
    };
  }
  if (task.assignee.empty()) return agents_.size() == 1 ? agents_.begin()->second : Work();
  const auto found = agents_.find(task.assignee);
  return found == agents_.end() ? Work() : found->second;
}

Result<void> TaskGraph::check() const {
  std::vector<std::string> ids;
  std::vector<std::string> names;
  for (const Task& task : tasks_) ids.push_back(task.id);
  for (const auto& [name, work] : agents_) names.push_back(name);
  const std::set<std::string> known(ids.begin(), ids.end());
  if (tasks_.empty()) return wrong_graph("task graph \"" + printable(id_) + "\" has no tasks");
  if (known.size() != ids.size()) {
    std::sort(ids.begin(), ids.end());
    return wrong_graph("task \"" + printable(*std::adjacent_find(ids.begin(), ids.end())) +
                       "\" is twice there");
  }
  for (const Task& task : tasks_) {
    const std::string which = "task \"" + printable(task.id) + "\"";
    const std::set<std::string> needs(task.depends_on.begin(), task.depends_on.end());
    if (needs.contains(task.id)) return wrong_graph(which + " depends on itself");
    if (needs.size() != task.depends_on.size())
      return wrong_graph(which + " depends on one task twice");
    for (const std::string& need : needs) {
      if (!known.contains(need)) {
        return wrong_graph(which + " depends on \"" + printable(need) + "\", which does not exist" +
                           triage::detail::allowed_names(need, ids));
      }
    }
    if (!worker(task)) {
      return wrong_graph(which + " has the assignee \"" + printable(task.assignee) +
                         "\", who is not known" +
                         triage::detail::allowed_names(task.assignee, names));
    }
  }
  if (const std::string cycle = find_cycle(tasks_); !cycle.empty()) {
    return wrong_graph("tasks depend on each other in a circle: " + cycle);
  }
  return outcome::success();
}

namespace {

// How a task uses its predecessors' results.
template <class Work>
auto task_handler(Task task, Work work, std::vector<std::string> context_of) {
  return [task = std::move(task), work = std::move(work), context_of = std::move(context_of)](
             const Json& message, Context& context) -> Result<TaskMessage> {
    for (const Json& one : outcomes_in(message)) {
      const auto before = one.at("task").template get<std::string>();
      const auto status = one.at("status").template get<std::string>();
      const bool hard = one.value("propagates", true);
      if (status == to_string(TaskStatus::failed) && hard) {
        const bool skips = one.value("skips", false);
        Json json = ended(task.id, skips ? TaskStatus::skipped : TaskStatus::failed,
                          "task \"" + before + "\" failed");
        json["cascaded"] = true;
        if (skips) json["propagates"] = true;
        return TaskMessage{std::move(json)};
      }
      if (status == to_string(TaskStatus::skipped) && one.value("cascaded", false)) {
        Json json = ended(task.id, TaskStatus::skipped, "task \"" + before + "\" was skipped");
        json["cascaded"] = true;
        return TaskMessage{std::move(json)};
      }
    }
    TaskInput input{.id = task.id, .description = task.description, .context = {}};
    Scope outputs = context.shared(outputs_scope);
    for (const std::string& before : context_of) {
      if (const auto output = outputs.find(before)) input.context.push_back({before, *output});
    }
    if (task.condition && !task.condition(input)) {
      return TaskMessage{ended(task.id, TaskStatus::skipped, "its condition does not hold")};
    }
    TRIAGE_TRY(output, work(input, context));
    outputs.set(task.id, std::move(output));
    return TaskMessage{ended(task.id, TaskStatus::completed)};
  };
}

}  // namespace

Result<Workflow> TaskGraph::build() const {
  TRIAGE_TRYV(check());
  WorkflowBuilder builder(id_, {.schedule = Schedule::eager,
                                .max_supersteps = 1'000'000,
                                .deliver_inputs = false,
                                .capacities = capacities_});
  for (const Task& task : tasks_) {
    std::vector<std::string> context_of;
    if (task.context == TaskContext::listed) {
      context_of = task.context_from.empty() ? task.depends_on : task.context_from;
    }
    if (task.context == TaskContext::all) context_of = ancestors(tasks_, task);
    ExecutorOptions options{
        .version = task.version + "\n" + task.assignee + "\n" + task.description,
        .policy = task.policy,
        .timeout = task.timeout};
    options.instead = [id = task.id, rule = task.on_failure](const Error& error) {
      Json json = ended(id, TaskStatus::failed, error.detail);
      if (rule == OnFailure::skip) json["skips"] = true;
      if (rule == OnFailure::carry_on) json["propagates"] = false;
      return Message{outcome_type, std::make_shared<const Json>(std::move(json))};
    };
    const std::string& who = task.assignee.empty() && !manager_ && agents_.size() == 1
                                 ? agents_.begin()->first
                                 : task.assignee;
    if (capacities_.contains(who)) options.shares = who;
    options.instead_is_failure = task.on_failure != OnFailure::carry_on;
    builder.executor(task.id, stateless(task_handler(task, worker(task), std::move(context_of))),
                     std::move(options));
  }
  for (const Task& task : tasks_) {
    if (task.depends_on.empty()) builder.start(task.id);
    if (task.depends_on.size() == 1) builder.edge(task.depends_on.front(), task.id);
    if (task.depends_on.size() > 1) builder.fan_in(task.depends_on, task.id);
  }
  return builder.build();
}

Result<std::vector<TaskView>> TaskGraph::tasks(const WorkflowRun& run) const {
  TRIAGE_TRY(deliveries, run.deliveries());
  TRIAGE_TRY(state, run.state());
  std::map<std::string, const DeliveryView*, std::less<>> by_task;
  std::set<std::string, std::less<>> at_work;
  for (const DeliveryView& one : deliveries) {
    if (one.how == Ran::at_work) {
      at_work.insert(one.executor);
    } else if (one.how != Ran::pending && one.how != Ran::skipped) {
      by_task[one.executor] = &one;
    }
  }
  const std::string scope = "s||" + std::string(outputs_scope);
  const Json outputs = state.is_object() ? state.value(scope, Json::object()) : Json::object();
  std::vector<TaskView> views;
  for (const Task& task : tasks_) {
    TaskView view{.id = task.id};
    if (const auto found = by_task.find(task.id); found != by_task.end()) {
      for (const Json& sent : found->second->sent) {
        const std::string status = text_in(sent, "status");
        for (const TaskStatus one :
             {TaskStatus::completed, TaskStatus::failed, TaskStatus::skipped}) {
          if (status == to_string(one)) view.status = one;
        }
        view.why = text_in(sent, "why");
      }
      if (view.status == TaskStatus::completed) view.output = outputs.value(task.id, Json());
    }
    views.push_back(std::move(view));
  }
  TRIAGE_TRY(stopped, run.stopped());
  const bool skips = stopped && stopped->how != StopKind::paused;
  for (TaskView& view : views) {
    if (view.status != TaskStatus::blocked) continue;
    if (skips && !by_task.contains(view.id)) {
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
