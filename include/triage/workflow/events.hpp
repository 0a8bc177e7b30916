// SPDX-License-Identifier: MIT
#pragma once
// What a workflow run reports to its observers.

#include "triage/checkpoint.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow {

// The names (to_string) are stable.
enum class WorkflowEventKind : std::uint8_t {
  superstep_completed,     // With `checkpoint`, if one was made.
  checkpoint_saved,        // With `checkpoint`.
  checkpoint_save_failed,  // With `error`; the run continues, and the next one includes what is
                           // missing.
};
[[nodiscard]] std::string_view to_string(WorkflowEventKind kind) noexcept;

struct WorkflowEvent {
  WorkflowEventKind kind = WorkflowEventKind::superstep_completed;
  std::string executor{};  // Its path; empty for events of the whole run.
  int occurrence = 0;      // Of the delivery; 0 without one.
  int superstep = 0;
  std::optional<CheckpointInfo> checkpoint{};
  std::optional<Error> error{};
};

// Called on the threads that cause the events, several at once; must not call back into the run.
// Exceptions are swallowed.
using WorkflowObserver = std::function<void(const WorkflowEvent&)>;

}  // namespace triage::inline v0_1::workflow
