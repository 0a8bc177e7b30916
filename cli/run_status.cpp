// SPDX-License-Identifier: MIT
#include "run_status.hpp"

namespace triage::inline v0_1::cli {
namespace {

// What people call a run that never ended and has no owner any more.
constexpr std::string_view died = "died";

}  // namespace

std::string status_text(const RunInfo& run) {
  if (run.status == RunStatus::running && !run.owned) return std::string(died);
  return std::string(to_string(run.status));
}

std::optional<RunStatus> stored_status(std::string_view text) {
  return text == died ? RunStatus::running : parse_run_status(text);
}

std::string status_names(std::string_view conjunction) {
  return "running, died, finished, escalated, aborted, cancelled, suspended, failed " +
         std::string(conjunction) + " poisoned";
}

}  // namespace triage::inline v0_1::cli
