// SPDX-License-Identifier: MIT
// From a workflow file to a workflow.
#include "workflow_file.hpp"

#include "triage/policies/retry.hpp"

#include <cstdint>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

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

auto handler_of(const FileExecutor& executor, AgentWork work) {
  return workflow::stateless(
      [executor, work = std::move(work)](const Json& message, Context& context) -> Result<Json> {
        TaskInput input{.id = executor.id, .description = executor.description};
        if (!message.is_null()) input.context.push_back({"message", message});
        return work(input, context);
      });
}

// In the fingerprint of a task: another command or model makes another executor. FNV-1a with 64
// bits, since only accidents are to be noticed.
std::string version_of(const std::string& description, const AgentSpec& agent, int attempts) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  for (const char byte : show(Json{{"description", description},
                                   {"command", agent.command},
                                   {"url", agent.url},
                                   {"model", agent.model},
                                   {"system", agent.system},
                                   {"max_tokens", agent.max_tokens},
                                   {"attempts", attempts}})) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
  return std::to_string(hash);
}

}  // namespace

void complete(WorkflowFile& file) {
  if (file.attempts > 1) {
    FailurePolicy again;
    again.otherwise(retry({.max_attempts = file.attempts}));
    for (workflow::Task& task : file.tasks) task.policy = again;
  }
  for (workflow::Task& task : file.tasks) {
    const AgentSpec& agent = file.agents.find(task.assignee)->second;
    task.version = version_of(task.description, agent, file.attempts);
    task.timeout = agent.timeout;
  }
  for (FileExecutor& one : file.graph.executors) {
    const AgentSpec& agent = file.agents.find(one.agent)->second;
    one.version = version_of(one.description, agent, file.attempts);
  }
}

workflow::TaskGraph graph_of(const WorkflowFile& file, const AgentWorks& works) {
  workflow::TaskGraph graph(file.id);
  for (const auto& [name, work] : works) graph.agent(name, work);
  for (const workflow::Task& task : file.tasks) graph.task(task);
  return graph;
}

Result<workflow::Workflow> workflow_of(const WorkflowFile& file, const AgentWorks& works) {
  WorkflowBuilder builder(file.id,
                          {.max_supersteps = file.graph.max_supersteps, .deliver_inputs = false});
  for (const FileExecutor& one : file.graph.executors) {
    const AgentSpec& agent = file.agents.find(one.agent)->second;
    ExecutorOptions options{.version = one.version, .timeout = agent.timeout};
    if (file.attempts > 1) {
      options.policy.emplace();
      options.policy->otherwise(retry({.max_attempts = file.attempts}));
    }
    builder.executor(one.id, handler_of(one, works.find(one.agent)->second), std::move(options));
  }
  for (const std::string& start : file.graph.start) builder.start(start);
  for (const FileEdge& edge : file.graph.edges) {
    if (edge.from.size() > 1) {
      builder.fan_in(edge.from, edge.to.front(), edge.join);
    } else if (edge.to.size() > 1) {
      builder.fan_out(edge.from.front(), edge.to);
    } else if (edge.when.is_null()) {
      builder.edge(edge.from.front(), edge.to.front());
    } else {
      // Several may lead to one executor, by what is said; another condition is another edge.
      const std::string said = show(edge.when);
      builder.edge(edge.from.front(), edge.to.front(), condition_of(edge.when),
                   {.name = edge.from.front() + "->" + edge.to.front() + " " + said.substr(0, 64),
                    .version = said});
    }
  }
  return builder.build();
}

}  // namespace triage::inline v0_1::cli
