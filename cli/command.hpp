// SPDX-License-Identifier: MIT
#pragma once
// A subcommand, as listed in the table of main.cpp.

#include "command_status.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// How `triage fork` receives each word after --, because CMD is not an ordinary argument.
inline constexpr std::string_view behind_dashes = "--word-of-cmd=";

// For an unsigned option: without it -1 would be a huge number.
inline CLI::Range whole_number(std::uint64_t least, std::uint64_t most) { return {least, most}; }

// For an option whose empty text would count as none: that of an unset variable in a script.
inline CLI::Validator not_empty() {
  return {[](std::string& text) { return std::string(text.empty() ? "it is empty" : ""); }, ""};
}

// Declares a command's arguments and returns the function that runs it after parsing. That function
// owns the parsed values.
using Prepare = std::function<ExitStatus()> (*)(CLI::App& arguments);

struct Command {
  const char* group;  // "checkpoint" in `triage checkpoint list`; empty for `triage classify`.
  const char* name;
  const char* help;
  Prepare prepare;
};

std::function<ExitStatus()> cancel(CLI::App& arguments);
std::function<ExitStatus()> chaos(CLI::App& arguments);
std::function<ExitStatus()> classify(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_diff(CLI::App& arguments);
std::function<ExitStatus()> completion(CLI::App& arguments);
std::function<ExitStatus()> doctor(CLI::App& arguments);
std::function<ExitStatus()> fork(CLI::App& arguments);
std::function<ExitStatus()> man(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_export(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_import(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_list(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_compact(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_prune(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_rekey(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_release(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_show(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_tree(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_verify(CLI::App& arguments);
std::function<ExitStatus()> correct(CLI::App& arguments);
std::function<ExitStatus()> decide(CLI::App& arguments);
std::function<ExitStatus()> effect(CLI::App& arguments);
std::function<ExitStatus()> experiment(CLI::App& arguments);
std::function<ExitStatus()> explain(CLI::App& arguments);
std::function<ExitStatus()> hook(CLI::App& arguments);
std::function<ExitStatus()> checkpoint_label(CLI::App& arguments);
std::function<ExitStatus()> reissue(CLI::App& arguments);
std::function<ExitStatus()> runs(CLI::App& arguments);
std::function<ExitStatus()> settle(CLI::App& arguments);
std::function<ExitStatus()> signal_send(CLI::App& arguments);
std::function<ExitStatus()> state_get(CLI::App& arguments);
std::function<ExitStatus()> state_set(CLI::App& arguments);
std::function<ExitStatus()> step(CLI::App& arguments);
std::function<ExitStatus()> suspended(CLI::App& arguments);
std::function<ExitStatus()> replay(CLI::App& arguments);
std::function<ExitStatus()> resume(CLI::App& arguments);
std::function<ExitStatus()> run(CLI::App& arguments);
std::function<ExitStatus()> train(CLI::App& arguments);
std::function<ExitStatus()> workflow_run(CLI::App& arguments);
std::function<ExitStatus()> worker(CLI::App& arguments);
std::function<ExitStatus()> workflow_show(CLI::App& arguments);
std::function<ExitStatus()> policy_check(CLI::App& arguments);
std::function<ExitStatus()> policy_show(CLI::App& arguments);

}  // namespace triage::inline v0_1::cli
