// SPDX-License-Identifier: MIT
#include "triage/workflow/task_graph.hpp"
#include "base/json_words.hpp"
#include "definition/task_outputs.hpp"
#include "members.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

// Tasks send each other only how they ended. What leaves the graph has the output, too.
Json ended(const std::string& task, TaskStatus status, const std::string& why = {}) {
  Json json{{"task", task}, {"status", to_string(status)}};
  if (!why.empty()) json["why"] = why;
  return json;
}

// Of a task that failed, or was left out because of another: what becomes of those after it.
Json without_output(const std::string& task, TaskStatus status, OnFailure rule,
                    const std::string& why) {
  Json json = ended(task, status, why);
  if (rule == OnFailure::skip) json["skips"] = true;
  if (rule == OnFailure::carry_on) json["propagates"] = false;
  return json;
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

Json context_json(const Task& task) {
  if (task.context == TaskContext::listed && !task.context_from.empty()) return task.context_from;
  return name_of(contexts, task.context);
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

// The outcomes of a task's dependencies, of which there are some: one, or a list.
std::vector<Json> outcomes_in(const Json& message) {
  if (message.is_array()) return {message.begin(), message.end()};
  return {message};
}

using Indices = std::map<std::string, std::size_t, std::less<>>;

Indices indices_of(const std::vector<Task>& tasks) {
  Indices indices;
  for (std::size_t i = 0; i < tasks.size(); ++i) indices.emplace(tasks[i].id, i);
  return indices;
}

// All direct and indirect dependencies, in the order of the tasks.
std::vector<std::string> ancestors(const std::vector<Task>& tasks, const Indices& indices,
                                   const Task& task) {
  std::set<std::size_t> seen;
  std::vector<const Task*> next{&task};
  while (!next.empty()) {
    const Task& one = *next.back();
    next.pop_back();
    for (const std::string& id : one.depends_on) {
      const std::size_t index = indices.find(id)->second;
      if (seen.insert(index).second) next.push_back(&tasks[index]);
    }
  }
  std::vector<std::string> ordered;
  for (const std::size_t index : seen) ordered.push_back(tasks[index].id);
  return ordered;
}

struct TaskMessage {
  static constexpr const char* message_type = detail::task_message_type;
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
  if (const auto odd = detail::unknown_member(plan, "the plan", {"tasks"})) {
    return wrong_graph(*odd);
  }
  std::vector<Task> added;
  for (const Json& json : plan["tasks"]) {
    const std::string which = "task " + std::to_string(added.size() + 1);
    try {
      Task task{.id = json.at("id").get<std::string>(),
                .description = json.value("description", std::string()),
                .depends_on = json.value("depends_on", std::vector<std::string>()),
                .assignee = json.value("assignee", std::string())};
      static const std::vector<std::string> members{"id",       "description", "depends_on",
                                                    "assignee", "context",     "on_failure"};
      if (const auto odd = detail::unknown_member(json, which, members)) {
        return wrong_graph(*odd);
      }
      const Json context_of = json.value("context", Json("listed"));
      if (context_of.is_array()) {
        task.context_from = context_of.get<std::vector<std::string>>();
        if (task.context_from.empty()) task.context = TaskContext::none;
      } else {
        TRIAGE_TRY(context, parse(contexts, context_of.get<std::string>(), which + ": context"));
        task.context = context;
      }
      TRIAGE_TRY(failure, parse(failures, json.value("on_failure", std::string("cascade")),
                                which + ": on_failure"));
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
                     {"context", context_json(task)},
                     {"on_failure", name_of(failures, task.on_failure)}});
  }
  return {{"tasks", std::move(tasks)}};
}

namespace {

std::string nobody(const std::string& task, const std::string& chosen,
                   const std::map<std::string, TaskWork, std::less<>>& agents) {
  std::vector<std::string> names;
  for (const auto& [name, work] : agents) names.push_back(name);
  return "the manager gives task \"" + task + "\" to \"" + printable(chosen) +
         "\", who is not known" + triage::detail::allowed_names(chosen, names);
}

}  // namespace

TaskGraph::Work TaskGraph::worker(const Task& task) const {
  if (task.assignee.empty() && manager_) {
    return [choose = manager_, agents = agents_](const TaskInput& input,
                                                 Context& context) -> Result<Json> {
      // A choice that cannot be is not recorded, so that there may be another one.
      const std::string key = detail::task_output_key("triage.manager", context.occurrence());
      const std::string who = context.effect(key, [&] {
        std::string chosen = choose(input);
        if (!agents.contains(chosen)) throw EffectNotDone(nobody(input.id, chosen, agents));
        return chosen;
      });
      const auto found = agents.find(who);
      return found != agents.end() ? found->second(input, context)
                                   : wrong_graph(nobody(input.id, who, agents));
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
  if (!twice_.empty()) return wrong_graph("agent \"" + printable(twice_) + "\" is twice there");
  if (tasks_.empty()) return wrong_graph("task graph \"" + printable(id_) + "\" has no tasks");
  if (const auto twice = detail::named_twice(ids)) {
    return wrong_graph("task \"" + printable(*twice) + "\" is twice there");
  }
  for (const Task& task : tasks_) {
    const std::string which = "task \"" + printable(task.id) + "\"";
    const std::set<std::string> needs(task.depends_on.begin(), task.depends_on.end());
    if (needs.contains(task.id)) return wrong_graph(which + " depends on itself");
    if (const auto twice = detail::named_twice(task.depends_on)) {
      return wrong_graph(which + " depends on \"" + printable(*twice) + "\" twice");
    }
    if (const auto twice = detail::named_twice(task.context_from)) {
      return wrong_graph(which + " has the context \"" + printable(*twice) + "\" twice");
    }
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
  const Indices indices = indices_of(tasks_);
  for (const Task& task : tasks_) {
    if (task.context_from.empty()) continue;
    const std::vector<std::string> before = ancestors(tasks_, indices, task);
    for (const std::string& one : task.context_from) {
      if (std::find(before.begin(), before.end(), one) != before.end()) continue;
      return wrong_graph("task \"" + printable(task.id) + "\" has the context \"" + printable(one) +
                         "\", which it does not depend on, directly or indirectly" +
                         triage::detail::allowed_names(one, before));
    }
  }
  return outcome::success();
}

namespace {

// The task's output, for those that see it. Its message has it, too, if no other depends on it.
Json complete(const std::string& task, bool is_last, Json output, Context& context) {
  Json json = ended(task, TaskStatus::completed);
  if (is_last) json["output"] = output;
  const std::string key = detail::task_output_key(task, context.occurrence());
  Scope outputs = context.shared(detail::task_outputs_scope);
  if (output.is_null()) {
    outputs.set(detail::null_output_key(key), true);
  } else {
    outputs.set(key, std::move(output));
  }
  return json;
}

// Empty: it has none. completed: it is known to have one.
std::optional<Json> output_of(const std::string& task, bool completed, Context& context) {
  const Scope outputs = context.shared(detail::task_outputs_scope);
  const std::string key = detail::task_output_key(task, context.occurrence());
  if (const auto output = outputs.find(key)) return *output;
  if (outputs.find(detail::null_output_key(key))) return Json();
  if (!completed || context.occurrence() == 1) return std::nullopt;
  const auto output = outputs.find(task);  // Stored by an earlier version.
  return output ? *output : std::optional<Json>();
}

// How a task uses its predecessors' results. is_last: no other depends on it.
template <class Work>
auto task_handler(Task task, Work work, std::vector<std::string> context_of, bool is_last) {
  return [task = std::move(task), work = std::move(work), context_of = std::move(context_of),
          is_last](const Json& message, Context& context) -> Result<TaskMessage> {
    const bool starts = task.depends_on.empty();
    std::set<std::string> completed;
    for (const Json& one : starts ? std::vector<Json>() : outcomes_in(message)) {
      const auto before = one.at("task").template get<std::string>();
      const auto status = one.at("status").template get<std::string>();
      if (status == to_string(TaskStatus::completed)) completed.insert(before);
      const bool failed = status == to_string(TaskStatus::failed);
      const bool stops = failed || one.value("cascaded", false);  // Not by its condition.
      if (!stops || !one.value("propagates", true)) continue;
      const bool skips = !failed || one.value("skips", false);
      Json json =
          without_output(task.id, skips ? TaskStatus::skipped : TaskStatus::failed, task.on_failure,
                         "task \"" + before + (failed ? "\" failed" : "\" was skipped"));
      json["cascaded"] = true;
      return TaskMessage{std::move(json)};
    }
    TaskInput input{.id = task.id, .description = task.description};
    if (starts) input.message = message;
    for (const std::string& before : context_of) {
      auto output = output_of(before, completed.contains(before), context);
      if (output) input.context.push_back({before, *std::move(output)});
    }
    if (task.condition && !task.condition(input)) {
      return TaskMessage{ended(task.id, TaskStatus::skipped, "its condition does not hold")};
    }
    TRIAGE_TRY(output, work(input, context));
    return TaskMessage{complete(task.id, is_last, std::move(output), context)};
  };
}

}  // namespace

Result<Workflow> TaskGraph::build() const {
  TRIAGE_TRYV(check());
  WorkflowOptions of_workflow = options_;
  of_workflow.schedule = Schedule::eager;
  of_workflow.max_supersteps = 1'000'000;
  of_workflow.deliver_inputs = false;
  for (const auto& [agent, capacity] : capacities_) of_workflow.capacities[agent] = capacity;
  WorkflowBuilder builder(id_, std::move(of_workflow));
  for (const auto& declare : ports_) declare(builder);
  const Indices indices = indices_of(tasks_);
  std::set<std::string> needed;
  for (const Task& task : tasks_) needed.insert(task.depends_on.begin(), task.depends_on.end());
  for (const Task& task : tasks_) {
    std::vector<std::string> context_of;
    if (task.context == TaskContext::listed) {
      context_of = task.context_from.empty() ? task.depends_on : task.context_from;
    }
    if (task.context == TaskContext::all) context_of = ancestors(tasks_, indices, task);
    ExecutorOptions options{
        .version = task.version + "\n" + task.assignee + "\n" + task.description,
        .policy = task.policy,
        .timeout = task.timeout,
        .checkpoints = task.checkpoints};
    options.instead = [id = task.id, rule = task.on_failure](const Error& error) {
      return make_message(
          TaskMessage{without_output(id, TaskStatus::failed, rule, error.message())});
    };
    const bool is_last = !needed.contains(task.id);
    options.fallback = [id = task.id, is_last](const Json& value, const Message&,
                                               Context& context) {
      return make_message(TaskMessage{complete(id, is_last, value, context)});
    };
    const std::string& who = task.assignee.empty() && !manager_ && agents_.size() == 1
                                 ? agents_.begin()->first
                                 : task.assignee;
    if (capacities_.contains(who)) options.shares = who;
    options.instead_is_failure = task.on_failure != OnFailure::carry_on;
    builder.executor(task.id,
                     stateless(task_handler(task, worker(task), std::move(context_of), is_last)),
                     std::move(options));
  }
  for (const Task& task : tasks_) {
    if (task.depends_on.empty()) builder.start(task.id);
    if (task.depends_on.size() == 1) builder.edge(task.depends_on.front(), task.id);
    if (task.depends_on.size() > 1) builder.fan_in(task.depends_on, task.id);
  }
  return builder.build();
}

}  // namespace triage::inline v0_1::workflow
