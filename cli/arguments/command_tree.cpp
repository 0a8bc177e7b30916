// SPDX-License-Identifier: MIT
#include "command_tree.hpp"

namespace triage::inline v0_1::cli {

const CLI::App& root_of(const CLI::App& app) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_for(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_lnames().empty() && !option->get_group().empty();
  });
}

std::string dashed(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

}  // namespace triage::inline v0_1::cli
