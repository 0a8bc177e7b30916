// SPDX-License-Identifier: MIT
#pragma once
// The exit statuses, common to all subcommands.

#include "triage/result.hpp"

#include <span>
#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

enum class ExitStatus : int {
  done = 0,
  not_found = 1,   // No such store, run or checkpoint.
  misuse = 2,      // Invalid arguments.
  corrupt = 3,     // Stored bytes fail verification.
  unreadable = 4,  // Part of the input could not be read; the rest was shown.
  escalated = 5,   // Somebody must look: also for a cancelled run, and an effect in doubt.
  aborted = 6,
  suspended = 7,
  busy = 8,  // Another process works on it, or has taken it over.
  // The environment refused: disk, memory, network; or this build, this kind of store or the file's
  // version does not allow it.
  failed = 9,
};

[[nodiscard]] ExitStatus exit_status(Errc code) noexcept;

// Whether --json is among the words in front of --. words: main()'s, for the first call of a
// process, which decides for all.
bool asked_for_json(std::span<char* const> words = {});
// One line of JSON to stderr.
void tell_error(std::string_view code, const std::string& message, ExitStatus status);

// Prints "triage: …" to stderr, or a line of JSON if the command was asked for JSON, and returns
// the status that fits the error.
ExitStatus report(const Error& error);
// The same for a program that was not found (127) or cannot be executed (126), as in env(1) and
// shells.
ExitStatus report_no_program(const Error& error);

// The statuses as a table, for --help.
[[nodiscard]] const char* exit_status_help() noexcept;

}  // namespace triage::inline v0_1::cli
