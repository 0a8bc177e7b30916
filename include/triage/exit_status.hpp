// SPDX-License-Identifier: MIT
#pragma once
// How a program ended, as an error code: evidence beside what the program said.

#include <system_error>

namespace triage::inline v0_1 {

// Of the codes below; its name is "exit_status".
[[nodiscard]] const std::error_category& exit_status_category() noexcept;

// For Failure::code. status: as a shell gives it, 0 to 255, that is 128 and the number of the
// signal for a program that a signal ended. 0 is not an error.
//
// The default classifier hears the statuses of shells and of the kernel (124, 126, 127, 134 to 137,
// 139); the others mean what a program likes, and are only recorded. Thread-safety: any thread.
[[nodiscard]] inline std::error_code exit_status(int status) noexcept {
  return {status, exit_status_category()};
}

}  // namespace triage::inline v0_1
