// SPDX-License-Identifier: MIT
// triage state get, triage state set: what the next attempt of a supervised program should know.

#include "arguments/key_value.hpp"
#include "command.hpp"
#include "programs/supervisor_client.hpp"
#include "render/output.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::cli {
namespace {

ExitStatus print_state(const std::string& key, const std::optional<std::string>& missing) {
  const auto answer = ask_supervisor({{"get", "state"}});
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
  return tell_supervisor({{"state", std::move(state).value()}});
}

}  // namespace

std::function<ExitStatus()> state_get(CLI::App& arguments) {
  auto key = std::make_shared<std::string>();
  auto missing = std::make_shared<std::optional<std::string>>();
  auto* named =
      arguments.add_option("KEY", *key, "Without it, the whole state as one line of JSON.")
          ->check(not_empty());
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

}  // namespace triage::inline v0_1::cli
