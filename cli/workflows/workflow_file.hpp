// SPDX-License-Identifier: MIT
#pragma once
// A file that describes a workflow: tasks, or executors and edges, and the programs and models that
// do the work.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/redaction.hpp"
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

// An agent: a command that reads and prints JSON, or an OpenAI-compatible HTTP endpoint.
struct AgentSpec {
  std::vector<std::string> command{};  // Empty: an endpoint.
  std::string url{};                   // Including the version: "http://127.0.0.1:11434/v1".
  std::string model{};
  std::string key_env{};  // Environment variable with the key; empty: none is sent.
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
// An agent's work, a question to someone outside, or a nested graph.
struct FileExecutor {
  std::string id{};
  std::string description{};
  std::string agent{};
  std::string version{};
  std::string ask{};                // May contain {{key}} for inputs; empty: no question.
  std::string answer{};             // Required type: json, text, number or boolean.
  Duration expires{0};              // After the question was asked; 0: never.
  std::optional<Json> otherwise{};  // Sent if it is not answered in time; empty: then it fails.
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
  int attempts = 1;  // Per task.
  std::map<std::string, AgentSpec, std::less<>> agents{};
  std::vector<workflow::Task> tasks{};  // Or:
  FileGraph graph{};                    // Without executors if there are tasks.
  std::optional<workflow::CheckpointPolicy> checkpoints{};
  Json inputs{};  // An object: the inputs that tasks can reference as {{key}}, with defaults.
};

// Whether a value is of an answer's type: of FileExecutor::answer.
[[nodiscard]] bool fits_answer(const Json& value, std::string_view type);

class CommandLineage;
class DocumentReader;
// Reports ids that are none, or are given twice. places: the paths of what has them.
void check_ids(DocumentReader& reader, const std::vector<std::string>& ids,
               const std::vector<std::string>& places);
// Each once, without empty ones.
[[nodiscard]] std::vector<std::string> known_ids(const std::vector<std::string>& ids);
// Reads a document's executors and edges. Problems are reported to the reader.
[[nodiscard]] FileGraph read_graph(DocumentReader& reader, const Json& document,
                                   const std::vector<std::string>& agents);

// Errors: Errc::invalid_argument, one line per problem: the key's path, its value and what is
// allowed, with the line number for YAML. folder: from which the commands are run.
[[nodiscard]] Result<WorkflowFile> parse_workflow_file(std::string_view text,
                                                       const std::string& folder);

// Derives versions and timeouts of tasks and executors from their agents.
void complete(WorkflowFile& file);

// Errors: the same, each line with the file's name; those of read_text_file.
[[nodiscard]] Result<WorkflowFile> read_workflow_file(const std::string& path);

using AgentWork =
    std::function<Result<Json>(const workflow::TaskInput& task, workflow::Context& context)>;
using AgentWorks = std::map<std::string, AgentWork, std::less<>>;
// Functions that run the commands and call the endpoints, by agent. folder: for the commands.
// redactor: for the texts of failures. lineage: of the commands; null if none is run.
// Errors: Errc::not_found for a missing key.
[[nodiscard]] Result<AgentWorks> works_of(const WorkflowFile& file, const std::string& folder,
                                          const std::shared_ptr<const Redactor>& redactor,
                                          const std::shared_ptr<CommandLineage>& lineage);

// Replaces each {{key}} in a text by the run's input, else by `defaults`.
[[nodiscard]] std::string with_inputs(const std::string& text, const Json& defaults,
                                      const workflow::Context& context);

// Called when a task or executor is tried again: which one, why, and after which wait.
using OnRetry =
    std::function<void(const std::string& path, const std::string& failure, Duration wait)>;

// The task graph of a file with tasks.
[[nodiscard]] workflow::TaskGraph graph_of(const WorkflowFile& file, const AgentWorks& works,
                                           const OnRetry& on_retry = {});
// The workflow of a file with executors. An executor's agent receives the message as context, under
// "message". Errors: Errc::invalid_argument, see WorkflowBuilder::build.
[[nodiscard]] Result<workflow::Workflow> workflow_of(const WorkflowFile& file,
                                                     const AgentWorks& works,
                                                     const OnRetry& on_retry = {});

}  // namespace triage::inline v0_1::cli
