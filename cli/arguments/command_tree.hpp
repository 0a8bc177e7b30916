// SPDX-License-Identifier: MIT
#pragma once
// The tree of commands and their options, as declared: for what is generated from it.

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// `triage` itself, for one of its commands.
[[nodiscard]] const CLI::App& root_of(const CLI::App& app);
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& app);
// The command's long options, such as "--store" and "--json".
[[nodiscard]] std::vector<const CLI::Option*> options_for(const CLI::App& app);
[[nodiscard]] std::string dashed(const CLI::Option& option);
[[nodiscard]] bool takes_value(const CLI::Option& option);

// Calls `each` for every command with its words after "triage"; "" for triage itself.
template <class Each>
void for_each_command(const CLI::App& app, const std::string& path, const Each& each) {
  each(app, path);
  for (const CLI::App* one : commands_of(app)) {
    for_each_command(*one, path + (path.empty() ? "" : " ") + one->get_name(), each);
  }
}

}  // namespace triage::inline v0_1::cli
