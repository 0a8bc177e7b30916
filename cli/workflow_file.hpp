// SPDX-License-Identifier: MIT
#pragma once
// A file that describes a workflow: tasks, or executors and edges, and the programs and models
// that do the work.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/workflow/checkpoints.hpp"
#include "triage/workflow/task_graph.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// Who does tasks: a command that takes and prints JSON, or an OpenAI-compatible HTTP endpoint.
struct AgentSpec {
  std::vector<std::string> command{};  // Empty: an endpoint.
  std::string url{};                   // Up to the version: "http://127.0.0.1:11434/v1".
  std::string model{};
  std::string key_env{};  // The environment variable that holds the key; empty: none is sent.
  std::string system{};   // The system message.
  int max_tokens = 0;     // 0: not sent.
  Duration timeout{0};
};

// An edge: from one to one, perhaps only for some messages; from one to several; or from several to
// one, which gets a list.
struct FileEdge {
  std::vector<std::string> from{};
  std::vector<std::string> to{};
  Json when{};  // Null: all messages. An object: those that have these values; else: equal ones.
  workflow::Join join{};
  std::string select{};  // Of the message: the member that names one target or several. Empty: all.
};
struct FileGraph;
// Work of an agent; or a question to somebody outside; or a graph of its own.
struct FileExecutor {
  std::string id{};
  std::string description{};
  std::string agent{};
  std::string version{};
  std::string ask{};                // With {{key}} for inputs; empty: no question.
  std::string answer{};             // What it must be: json, text, number or boolean.
  Duration expires{0};              // After the question was asked; 0: never.
  std::optional<Json> otherwise{};  // Sent if nobody answers in time; nothing: that is a failure.
  std::shared_ptr<FileGraph> inside{};
};
struct FileGraph {
  std::vector<FileExecutor> executors{};
  std::vector<FileEdge> edges{};
  std::vector<std::string> start{};
  int max_supersteps = 100;
};

struct WorkflowFile {
  std::string id{};
  int attempts = 1;  // For each task.
  std::map<std::string, AgentSpec, std::less<>> agents{};
  std::vector<workflow::Task> tasks{};  // Or:
  FileGraph graph{};                    // Without executors if there are tasks.
  std::optional<workflow::CheckpointTriggers> checkpoints{};
  Json inputs{};  // An object: what tasks can refer to as {{key}}, with what they are if not given.
};

class DocumentReader;
// The executors and edges of a document. What is wrong is told to the reader.
[[nodiscard]] FileGraph read_graph(DocumentReader& reader, const Json& document,
                                   const std::vector<std::string>& agents);

// Errors: Errc::invalid_argument, one line for each problem: the path of the key, its value and
// what is allowed, with its line in the file if it is YAML.
[[nodiscard]] Result<WorkflowFile> parse_workflow_file(std::string_view text);

// Gives tasks and executors what follows from their agents: versions, policies, timeouts.
void complete(WorkflowFile& file);

// Errors: the same, each line with the file's name; those of read_text_file.
[[nodiscard]] Result<WorkflowFile> read_workflow_file(const std::string& path);

using AgentWork =
    std::function<Result<Json>(const workflow::TaskInput& task, workflow::Context& context)>;
using AgentWorks = std::map<std::string, AgentWork, std::less<>>;
// What runs the commands and calls the endpoints, by agent. folder: of the commands. Errors:
// Errc::not_found for a key that is missing.
[[nodiscard]] Result<AgentWorks> works_of(const WorkflowFile& file, const std::string& folder);

// A text with the inputs in it that it names as {{key}}: those of the run, else `defaults`.
[[nodiscard]] std::string with_inputs(const std::string& text, const Json& defaults,
                                      const workflow::Context& context);

// The tasks of a file that has tasks.
[[nodiscard]] workflow::TaskGraph graph_of(const WorkflowFile& file, const AgentWorks& works);
// The executors and edges of a file that has executors. An executor's agent gets the message as
// its context, under "message". Errors: Errc::invalid_argument, see WorkflowBuilder::build.
[[nodiscard]] Result<workflow::Workflow> workflow_of(const WorkflowFile& file,
                                                     const AgentWorks& works);

}  // namespace triage::inline v0_1::cli
