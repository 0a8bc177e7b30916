// SPDX-License-Identifier: MIT
#pragma once
// A file that describes a workflow: tasks, and the programs and models that do them.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/workflow/task_graph.hpp"

#include <map>
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

struct WorkflowFile {
  std::string id{};
  int attempts = 1;  // For each task.
  std::map<std::string, AgentSpec, std::less<>> agents{};
  std::vector<workflow::Task> tasks{};
  Json inputs{};  // An object: what tasks can refer to as {{key}}, with what they are if not given.
};

// Errors: Errc::invalid_argument, one line for each problem: the path of the key, its value and
// what is allowed, with its line in the file if it is YAML.
[[nodiscard]] Result<WorkflowFile> parse_workflow_file(std::string_view text);

// Errors: the same, each line with the file's name; those of read_text_file.
[[nodiscard]] Result<WorkflowFile> read_workflow_file(const std::string& path);

// The tasks with agents that run the commands and call the endpoints. folder: of the commands.
// Errors: Errc::invalid_argument, such as a cycle; Errc::not_found for a command or key that is
// missing.
[[nodiscard]] Result<workflow::TaskGraph> graph_of(const WorkflowFile& file,
                                                   const std::string& folder);

}  // namespace triage::inline v0_1::cli
