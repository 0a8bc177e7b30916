// SPDX-License-Identifier: MIT
#pragma once
// A program that is run once: a text in, a text out.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

struct ProgramRun {
  std::vector<std::string> command{};  // The program, as a shell would find it, first.
  std::string folder{};
  std::string in{};
  std::optional<TimePoint> until{};  // Then it is killed, with all that it has started.
  std::stop_token stop{};            // The same.
};

struct ProgramEnd {
  int status = 0;     // 128 + the signal's number if one ended it.
  std::string out{};  // At most 16 MB.
  std::string error_tail{};
  bool killed = false;  // By us: it took too long, said too much, or was to stop.
};

// Thread-safety: may be called from several threads at once. Errors: Errc::not_found, Errc::io if
// it cannot be run.
[[nodiscard]] Result<ProgramEnd> run_program(const ProgramRun& run);

}  // namespace triage::inline v0_1::cli
