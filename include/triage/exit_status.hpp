// SPDX-License-Identifier: MIT
#pragma once
// A program's exit status as an error code: evidence besides the program's output.

#include <system_error>

namespace triage::inline v0_1 {

// The category of the codes below; its name is "exit_status".
[[nodiscard]] const std::error_category& exit_status_category() noexcept;

// For Failure::code. status: as in a shell, 0 to 255: 128 plus the signal's number for a program
// that a signal ended. 0 is not an error.
//
// The default classifier interprets the statuses of shells and of the kernel (124, 126, 127, 134 to
// 137, 139); the meaning of all others is up to the program, so they are only recorded.
// Thread-safety: any thread.
[[nodiscard]] inline std::error_code exit_status(int status) noexcept {
  return {status, exit_status_category()};
}

}  // namespace triage::inline v0_1
