// SPDX-License-Identifier: MIT
#pragma once
// From the end of a child to the failure that is classified.

#include "supervise/attempt_io.hpp"
#include "triage/failure.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

[[nodiscard]] inline bool succeeded(const ChildEnd& end) noexcept {
  return end.status == 0 &&
         (end.cause == ChildEnd::Cause::itself || end.cause == ChildEnd::Cause::dismissed);
}

// As a shell would say it: the exit status, or 128 and the number of the signal.
[[nodiscard]] int shell_status(int wait_status) noexcept;

// What the end says: facts that need no classifier as a type (a death by signal, want of memory, a
// timeout), else the newest JSON error and the tails of the streams as text. name: of the program.
[[nodiscard]] Failure failure_of(const ChildEnd& end, const std::string& name);

}  // namespace triage::inline v0_1::supervise
