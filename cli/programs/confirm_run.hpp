// SPDX-License-Identifier: MIT
#pragma once
// triage replay RUN --confirm: whether the blamed step was the cause.

#include "arguments/store_argument.hpp"
#include "command_status.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

struct ConfirmArguments {
  bool confirm = false;
  int times = 20;
  int attempt = 0;
  std::string from{};
  std::string hint{};
  std::vector<std::string> set{};
  std::vector<std::string> answer{};
  std::vector<std::string> assume{};
  std::vector<std::string> command{};  // Given after --; empty: the run's own.
};

void declare_confirm(CLI::App& arguments, ConfirmArguments& given);
[[nodiscard]] ExitStatus confirm_run(const StoreArgument& where, const ConfirmArguments& given,
                                     bool json);

}  // namespace triage::inline v0_1::cli
