// SPDX-License-Identifier: MIT
#pragma once
// What a run of a workflow tells those who watch it.

#include "triage/checkpoint.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow {

// The names (to_string) are fixed.
enum class WorkflowEventKind : std::uint8_t {
  superstep_completed,     // With `checkpoint`, if one was made of it.
  checkpoint_saved,        // With `checkpoint`.
  checkpoint_save_failed,  // With `error`; the run goes on, and the next one carries what is
                           // missing.
};
[[nodiscard]] std::string_view to_string(WorkflowEventKind kind) noexcept;

struct WorkflowEvent {
  WorkflowEventKind kind = WorkflowEventKind::superstep_completed;
  std::string executor{};  // Its path; empty for what concerns the whole run.
  int occurrence = 0;      // Of the delivery; 0 if there is none.
  int superstep = 0;
  std::optional<CheckpointInfo> checkpoint{};
  std::optional<Error> error{};
};

// Called on the threads that make the events, several at once; must not call back into the run.
// What it throws is swallowed.
using WorkflowObserver = std::function<void(const WorkflowEvent&)>;

}  // namespace triage::inline v0_1::workflow
