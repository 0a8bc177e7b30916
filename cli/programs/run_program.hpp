// SPDX-License-Identifier: MIT
#pragma once
// Runs a program once: text in, text out.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

struct ProgramRun {
  std::vector<std::string> command{};  // The program first, found as a shell would.
  std::string folder{};
  std::string in{};
  std::string lineage{};             // The value of supervise::lineage_variable.
  std::optional<TimePoint> until{};  // When it is killed, with everything it started.
  std::stop_token stop{};            // Likewise.
};

struct ProgramEnd {
  int status = 0;     // 128 + the signal's number if a signal ended it.
  std::string out{};  // At most 16 MB.
  std::string error_tail{};
  bool killed = false;    // By us: too slow, too much output, or stopped.
  bool too_much = false;  // More output than that.
};

// Thread-safety: may be called from several threads at once. Errors: Errc::not_found, Errc::io if
// it cannot be run.
[[nodiscard]] Result<ProgramEnd> run_program(const ProgramRun& run);

}  // namespace triage::inline v0_1::cli
