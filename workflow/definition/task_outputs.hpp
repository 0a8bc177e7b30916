// SPDX-License-Identifier: MIT
#pragma once
// Where the outputs of a TaskGraph's tasks are: once in the shared state, whoever uses them.

#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

inline constexpr std::string_view task_outputs_scope = "tasks";
// The type of the messages that say how a task ended.
inline constexpr const char* task_message_type = "task";

// A graph inside a workflow may get several messages, each with its own outputs. Earlier versions
// stored those of later messages under the task's name, too.
[[nodiscard]] inline std::string task_output_key(const std::string& task, int occurrence) {
  return occurrence == 1 ? task : task + "/" + std::to_string(occurrence);
}

// In the state a null is no value. So an output that is null is a mark, under this key instead.
[[nodiscard]] inline std::string null_output_key(const std::string& output_key) {
  return output_key + "/null";
}

}  // namespace triage::inline v0_1::workflow::detail
