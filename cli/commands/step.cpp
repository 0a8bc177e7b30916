// SPDX-License-Identifier: MIT
// triage step: records a step from inside a supervised program.

#include "arguments/key_value.hpp"
#include "command.hpp"
#include "programs/supervisor_client.hpp"
#include "triage/detail/try.hpp"

#include <memory>
#include <string>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct StepArguments {
  std::string action{};
  std::string tool{};
  std::string input{};
  std::string output{};
  std::string error{};
  bool idempotent = false;
};

Result<Json> step_of(const StepArguments& given) {
  Json step{{"action", given.action}, {"idempotent", given.idempotent}};
  if (!given.tool.empty()) step["tool_called"] = given.tool;
  if (!given.input.empty()) {
    TRIAGE_TRY(input, value_of(given.input));
    step["tool_input"] = std::move(input);
  }
  if (!given.output.empty()) {
    TRIAGE_TRY(output, value_of(given.output));
    step["tool_output"] = std::move(output);
  }
  if (!given.error.empty()) step["error"] = given.error;
  return outcome::success(std::move(step));
}

}  // namespace

std::function<ExitStatus()> step(CLI::App& arguments) {
  auto given = std::make_shared<StepArguments>();
  arguments.add_option("ACTION", given->action, "What was done.")->required();
  arguments.add_option("--tool", given->tool, "The tool that was called.");
  arguments.add_option("--input", given->input, "What it was given: JSON, or a text.");
  arguments.add_option("--output", given->output, "What it gave.");
  arguments.add_option("--error", given->error, "That it failed, as it was printed.");
  arguments.add_flag("--idempotent", given->idempotent, "Doing it again is harmless.");
  arguments.footer(
      "Example: triage step fetch --tool curl --input "
      "'{\"page\": 3}'");
  return [given] {
    const auto step = step_of(*given);
    return step ? tell_supervisor({{"step", step.value()}}) : report(step.error());
  };
}

}  // namespace triage::inline v0_1::cli
