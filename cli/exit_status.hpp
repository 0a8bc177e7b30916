// SPDX-License-Identifier: MIT
#pragma once
// The exit statuses, common to all subcommands.

#include "triage/result.hpp"

namespace triage::inline v0_1::cli {

enum class ExitStatus : int {
  done = 0,
  not_found = 1,   // No such store, run or checkpoint.
  misuse = 2,      // Invalid arguments.
  corrupt = 3,     // Stored bytes fail verification.
  unreadable = 4,  // Part of the input could not be read; the rest was shown.
  escalated = 5,
  aborted = 6,
  suspended = 7,
  busy = 8,
  failed = 9,  // The environment refused: disk, memory, a file of a newer version.
};

[[nodiscard]] ExitStatus exit_status(Errc code) noexcept;

// Prints "triage: …" to stderr and returns the error's exit status.
ExitStatus report(const Error& error);

// The statuses as a table, for --help.
[[nodiscard]] const char* exit_status_help() noexcept;

}  // namespace triage::inline v0_1::cli
