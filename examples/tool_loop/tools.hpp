// SPDX-License-Identifier: MIT
#pragma once
// What the agent can do: read the files of one folder, count, calculate, and save notes.

#include "triage/attempt.hpp"
#include "triage/contract.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tool_loop {

struct Tool {
  triage::ToolContract promise{};  // Name, description, schema of the arguments; no aliases.
  // The arguments fit the schema. The output goes to the model, {"error": …} too; an error of the
  // library ends the attempt.
  std::function<triage::Result<triage::Json>(const triage::Json& arguments, triage::Attempt&)>
      run{};
};

// Tools over the files of this folder; nothing outside of it is read or written.
[[nodiscard]] std::vector<Tool> make_tools(const std::filesystem::path& folder);
// As the OpenAI protocol wants them: names, descriptions, JSON Schemas.
[[nodiscard]] triage::Json describe(const std::vector<Tool>& tools);
// The same as a promise: a call of anything else, or with other arguments, is recognised without
// reading any text.
[[nodiscard]] triage::AgentContract contract(const std::vector<Tool>& tools);

}  // namespace tool_loop
