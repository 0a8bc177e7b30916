// SPDX-License-Identifier: MIT
#pragma once
// Turns the end of a child into a failure to classify.

#include "supervise/attempt/attempt_io.hpp"
#include "triage/failure.hpp"

#include <optional>
#include <string>

namespace triage::inline v0_1::supervise {

[[nodiscard]] inline bool succeeded(const ChildEnd& end) noexcept {
  return end.status == 0 &&
         (end.cause == ChildEnd::Cause::itself || end.cause == ChildEnd::Cause::dismissed);
}

// As in a shell: the exit status, or 128 plus the signal's number.
[[nodiscard]] int shell_status(int wait_status) noexcept;

// Facts that need no classifier become the type (a death by signal, lack of memory, a timeout);
// otherwise the text is the newest JSON error and the streams' tails. name: the program's.
[[nodiscard]] Failure failure_of(const ChildEnd& end, const std::string& name);

// "--memory 64 (MB of address space)".
[[nodiscard]] std::string memory_limit_text(const ChildLimits& limits);

// The failure of a program whose libraries cannot be loaded within one of the limits, which it
// names; empty: of another one. No further attempt would come further.
[[nodiscard]] std::optional<Failure> limit_too_low(const ChildEnd& end, const ChildLimits& limits,
                                                   const std::string& name);

}  // namespace triage::inline v0_1::supervise
