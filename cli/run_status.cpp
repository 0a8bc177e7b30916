// SPDX-License-Identifier: MIT
#include "run_status.hpp"

namespace triage::inline v0_1::cli {
namespace {

constexpr std::string_view died = "died";

}  // namespace

bool has_died(const RunInfo& run) noexcept {
  return run.status == RunStatus::running && !run.owned;
}

std::string status_text(const RunInfo& run) {
  if (has_died(run)) return std::string(died);
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
