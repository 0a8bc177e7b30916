// SPDX-License-Identifier: MIT
// triage step, triage state get|set, triage checkpoint label: reports from a shell script.

#include "arguments/key_value.hpp"
#include "command.hpp"
#include "programs/supervisor_client.hpp"
#include "render/output.hpp"
#include "triage/detail/try.hpp"

#include <memory>
#include <optional>

namespace triage::inline v0_1::cli {
namespace {

Result<Json> ask(const Json& message) {
  TRIAGE_TRY(client, SupervisorClient::connect());
  return client.ask(message);
}

ExitStatus tell(const Json& message) {
  const auto answer = ask(message);
  return answer ? ExitStatus::done : report(answer.error());
}

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

ExitStatus print_state(const std::string& key, const std::optional<std::string>& missing) {
  const auto answer = ask({{"get", "state"}});
  if (!answer) return report(answer.error());
  const Json state = answer.value().value("state", Json::object());
  if (key.empty()) {
    print(show(state) + "\n");
    return ExitStatus::done;
  }
  const auto found = state.find(key);
  if (found == state.end() && missing) {
    print(*missing + "\n");
    return ExitStatus::done;
  }
  if (found == state.end()) return ExitStatus::not_found;
  print((found->is_string() ? found->get<std::string>() : show(*found)) + "\n");
  return ExitStatus::done;
}

ExitStatus set_state(const std::vector<std::string>& pairs) {
  auto state = object_of("state set", pairs);
  if (!state) return report(state.error());
  return tell({{"state", std::move(state).value()}});
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
    return step ? tell({{"step", step.value()}}) : report(step.error());
  };
}

std::function<ExitStatus()> state_get(CLI::App& arguments) {
  auto key = std::make_shared<std::string>();
  auto missing = std::make_shared<std::optional<std::string>>();
  auto* named =
      arguments.add_option("KEY", *key, "Without it, the whole state as one line of JSON.");
  arguments
      .add_option("--default", *missing,
                  "What is printed if there is no such key: JSON, or a text. Other failures stay "
                  "failures.")
      ->needs(named);
  arguments.footer("Example: page=$(triage state get page --default 0) || exit");
  return [key, missing] { return print_state(*key, *missing); };
}

std::function<ExitStatus()> state_set(CLI::App& arguments) {
  auto pairs = std::make_shared<std::vector<std::string>>();
  arguments.add_option("PAIR", *pairs, "KEY=VALUE. A value is JSON, or a text.")->required();
  arguments.footer("Example: triage state set page=3 name=ana");
  return [pairs] { return set_state(*pairs); };
}

std::function<ExitStatus()> checkpoint_label(CLI::App& arguments) {
  auto label = std::make_shared<std::string>();
  arguments.add_option("LABEL", *label, "Found again by a rollback.")->required();
  arguments.footer("Example: triage checkpoint label planned");
  return [label] { return tell({{"checkpoint", *label}}); };
}

}  // namespace triage::inline v0_1::cli
