// SPDX-License-Identifier: MIT
// Builds a workflow from a workflow file.
#include "workflow_file.hpp"

#include "render/output.hpp"
#include "triage/detail/fnv1a.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/limits.hpp"
#include "triage/policies/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_shown_message = 100;

using workflow::Context;
using workflow::ExecutorOptions;
using workflow::Message;
using workflow::TaskInput;
using workflow::WorkflowBuilder;

workflow::Condition condition_of(const Json& when) {
  if (when.is_null()) return {};
  return [when](const Message& message) {
    const Json& value = message.json();
    if (!when.is_object() || !value.is_object()) return value == when;
    for (auto field = when.begin(); field != when.end(); ++field) {
      const auto found = value.find(field.key());
      if (found == value.end() || *found != *field) return false;
    }
    return true;
  };
}

// What is no name, or none of a target, is refused with the targets that there are. Throws
// std::runtime_error if the message names nobody.
workflow::Selector selector_of(const FileEdge& edge) {
  if (edge.select.empty()) return {};
  return [edge](const Message& message) {
    const Json& value = message.json();
    if (!value.is_object() || !value.contains(edge.select)) {
      throw std::runtime_error("executor \"" + edge.from.front() + "\" has sent " +
                               shorten(show(value), longest_shown_message) +
                               ", which does not say in \"" + edge.select +
                               "\" who gets it; allowed there are " + detail::joined(edge.to));
    }
    const Json& chosen = value.at(edge.select);
    std::vector<std::string> names;
    for (const Json& one : chosen.is_array() ? chosen : Json::array({chosen})) {
      names.push_back(one.is_string() ? one.get<std::string>() : show(one));
    }
    return names;
  };
}

auto handler_of(const FileExecutor& executor, AgentWork work) {
  return workflow::stateless(
      [executor, work = std::move(work)](const Json& message, Context& context) -> Result<Json> {
        TaskInput input{.id = executor.id, .description = executor.description};
        if (!message.is_null()) input.context.push_back({"message", message});
        return work(input, context);
      });
}

// A number as it was given: a double would change whole numbers.
struct NumberAnswer {
  static constexpr const char* message_type = "number";
  Json value{};
};
void from_json(const Json& json, NumberAnswer& answer) {
  if (!json.is_number()) workflow::detail::no_number(json, "a number");
  answer.value = json;
}
void to_json(Json& json, const NumberAnswer& answer) { json = answer.value; }

// Asks with the answer type that the port's name implies.
template <class Answer>
std::optional<Json> ask(const FileExecutor& executor, const Json& question, Context& context) {
  if (executor.expires == Duration::zero()) {
    return Json(context.request<Answer>(executor.answer, question));
  }
  const auto until = real_clock()->wall_now() +
                     std::chrono::duration_cast<std::chrono::milliseconds>(executor.expires);
  if (!executor.otherwise) {
    return Json(context.request<Answer>(executor.answer, question, {.expires = until}));
  }
  const auto answer = context.try_request<Answer>(executor.answer, question, {.expires = until});
  return answer ? Json(*answer) : *executor.otherwise;
}

auto question_of(const FileExecutor& executor, const Json& defaults) {
  return workflow::stateless([executor, defaults](const Json& message,
                                                  Context& context) -> Result<Json> {
    Json question{{"question", with_inputs(executor.ask, defaults, context)}};
    if (!message.is_null()) question["message"] = message;
    const auto answer = executor.answer == "text" ? ask<std::string>(executor, question, context)
                        : executor.answer == "number"
                            ? ask<NumberAnswer>(executor, question, context)
                        : executor.answer == "boolean" ? ask<bool>(executor, question, context)
                                                       : ask<Json>(executor, question, context);
    return outcome::success(*answer);
  });
}

// Only guards against accidents.
std::string hash_of(const Json& json) { return std::to_string(detail::fnv1a(show(json))); }

// Part of a task's fingerprint: another command or model makes it a different executor.
std::string version_of(const std::string& description, const AgentSpec& agent) {
  return hash_of({{"description", description},
                  {"command", agent.command},
                  {"url", agent.url},
                  {"model", agent.model},
                  {"system", agent.system},
                  {"max_tokens", agent.max_tokens},
                  {"attempts", 1}});  // For runs of earlier versions. It may change.
}

void complete(const WorkflowFile& file, FileGraph& graph) {
  for (FileExecutor& one : graph.executors) {
    if (one.inside) {
      complete(file, *one.inside);
    } else if (!one.ask.empty()) {
      Json said{{"ask", one.ask}, {"answer", one.answer}, {"expires", one.expires.count()}};
      if (one.otherwise) said["otherwise"] = *one.otherwise;
      one.version = hash_of(said);
    } else {
      one.version = version_of(one.description, file.agents.find(one.agent)->second);
    }
  }
}

}  // namespace

void complete(WorkflowFile& file) {
  for (workflow::Task& task : file.tasks) {
    const AgentSpec& agent = file.agents.find(task.assignee)->second;
    task.version = version_of(task.description, agent);
    task.timeout = agent.timeout;
  }
  complete(file, file.graph);
}

namespace {

std::optional<FailurePolicy> policy_of(int attempts, const std::string& path,
                                       const OnRetry& on_retry) {
  if (attempts <= 1) return std::nullopt;
  Strategy again = retry_with_backoff({.max_attempts = attempts});
  std::string description = again.description();
  FailurePolicy policy;
  policy.otherwise(Strategy(
      std::move(description),
      [path, on_retry, again = std::move(again)](const FailureContext& failure) {
        RecoveryAction action = again(failure);
        const bool retries = action.kind == RecoveryAction::Kind::retry;
        if (retries && on_retry) on_retry(path, failure.text, action.delay);
        return action;
      },
      attempts));
  return policy;
}

// Empty: the usual ones allow so many attempts.
std::optional<Limits> limits_of(int attempts) {
  Limits limits;
  if (attempts <= limits.max_attempts_per_type) return std::nullopt;
  limits.max_attempts_per_type = attempts;
  limits.max_attempts = std::max(limits.max_attempts, 2 * attempts);
  return limits;
}

}  // namespace

workflow::TaskGraph graph_of(const WorkflowFile& file, const AgentWorks& works,
                             const OnRetry& on_retry) {
  workflow::TaskGraph graph(
      file.id, {.checkpoints = file.checkpoints, .defaults = {.limits = limits_of(file.attempts)}});
  for (const auto& [name, work] : works) graph.agent(name, work);
  for (workflow::Task task : file.tasks) {
    task.policy = policy_of(file.attempts, task.id, on_retry);
    graph.task(std::move(task));
  }
  return graph;
}

namespace {

// What all executors of a file are made of. scope: of nested ones, "outer/".
struct Making {
  const WorkflowFile& file;
  const AgentWorks& works;
  const OnRetry& on_retry;
  std::string scope{};
};

// Several edges may lead to one executor under different conditions, of which the name has the
// beginning.
std::string name_of(const FileEdge& edge, const std::string& condition,
                    std::map<std::string, int>& known) {
  std::string name = edge.from.front() + "->" + edge.to.front() + " " + condition.substr(0, 64);
  if (const int nth = ++known[name]; nth > 1) name += " " + std::to_string(nth);
  return name;
}

void add_edge(WorkflowBuilder& builder, const FileEdge& edge, std::map<std::string, int>& known) {
  if (edge.from.size() > 1) {
    builder.fan_in(edge.from, edge.to.front(), edge.join);
  } else if (edge.to.size() > 1) {
    workflow::EdgeOptions options;
    if (!edge.select.empty()) options.version = "select " + edge.select;
    builder.fan_out(edge.from.front(), edge.to, selector_of(edge), std::move(options));
  } else if (edge.when.is_null()) {
    builder.edge(edge.from.front(), edge.to.front());
  } else {
    const std::string said = show(edge.when);
    builder.edge(edge.from.front(), edge.to.front(), condition_of(edge.when),
                 {.name = name_of(edge, said, known), .version = said});
  }
}

Result<void> add_executor(WorkflowBuilder& builder, const FileExecutor& one, const Making& making);

Result<workflow::Workflow> built(WorkflowBuilder builder, const FileGraph& graph,
                                 const Making& making) {
  const auto asks = [&](const char* answer) {
    return std::any_of(graph.executors.begin(), graph.executors.end(),
                       [&](const FileExecutor& one) { return one.answer == answer; });
  };
  if (asks("json")) builder.port<Json>("json");
  if (asks("text")) builder.port<std::string>("text");
  if (asks("number")) builder.port<NumberAnswer>("number");
  if (asks("boolean")) builder.port<bool>("boolean");
  for (const FileExecutor& one : graph.executors) {
    TRIAGE_TRYV(add_executor(builder, one, making));
  }
  for (const std::string& start : graph.start) builder.start(start);
  std::map<std::string, int> known;
  for (const FileEdge& edge : graph.edges) add_edge(builder, edge, known);
  return builder.build();
}

Result<void> add_executor(WorkflowBuilder& builder, const FileExecutor& one, const Making& making) {
  const WorkflowFile& file = making.file;
  const std::string path = making.scope + one.id;
  if (one.inside) {
    auto inside = built(WorkflowBuilder(one.id), *one.inside,
                        {file, making.works, making.on_retry, path + "/"});
    if (!inside) return Error{inside.error().code, one.id + ": " + inside.error().detail};
    builder.executor(one.id, std::move(inside).value());
    return outcome::success();
  }
  if (!one.ask.empty()) {
    builder.executor(one.id, question_of(one, file.inputs), {.version = one.version});
    return outcome::success();
  }
  const AgentSpec& agent = file.agents.find(one.agent)->second;
  ExecutorOptions options{.version = one.version,
                          .policy = policy_of(file.attempts, path, making.on_retry),
                          .timeout = agent.timeout,
                          .limits = limits_of(file.attempts)};
  builder.executor(one.id, handler_of(one, making.works.find(one.agent)->second),
                   std::move(options));
  return outcome::success();
}

}  // namespace

Result<workflow::Workflow> workflow_of(const WorkflowFile& file, const AgentWorks& works,
                                       const OnRetry& on_retry) {
  return built(WorkflowBuilder(file.id, {.max_supersteps = file.graph.max_supersteps,
                                         .deliver_inputs = false,
                                         .checkpoints = file.checkpoints}),
               file.graph, {file, works, on_retry});
}

}  // namespace triage::inline v0_1::cli
