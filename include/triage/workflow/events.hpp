// SPDX-License-Identifier: MIT
#pragma once
// What a run of a workflow tells those who watch it.

#include "triage/checkpoint.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow {

// The names (to_string) are fixed. Those marked (live) are told to a WorkflowObserver only; the
// run_ ones are in the journal only.
enum class WorkflowEventKind : std::uint8_t {
  run_started,
  run_resumed,  // Or began as a branch.
  run_suspended,
  run_finished,
  run_stopped,          // Without a result: failed, escalated, cancelled.
  executor_started,     // (live) Its handler is about to be called.
  executor_completed,   // With what it sent in `value`.
  executor_failed,      // With why in `value`, and live in `error` if nothing is sent instead.
  executor_reused,      // (live) It had finished before; what it sent then was taken.
  output,               // With `value`.
  request_opened,       // With `request` and its payload in `value`.
  request_answered,     // With `request` and the answer in `value`.
  superstep_completed,  // With `checkpoint`, if one was made of it; the journal has only those.
  checkpoint_saved,     // With `checkpoint`.
  resource_changed,     // (live) With name, kind, and its digest before and now in `value`.
  // (live) With `error`; the run goes on, and the next checkpoint carries what is missing.
  checkpoint_save_failed,
};
[[nodiscard]] std::string_view to_string(WorkflowEventKind kind) noexcept;

struct WorkflowEvent {
  WorkflowEventKind kind = WorkflowEventKind::run_started;
  Sequence sequence = 0;   // Of the record that says so; live: 0.
  WallTime time{};         // Of the record; live: none.
  std::string executor{};  // Its path; empty for what concerns the whole run.
  int occurrence = 0;      // Of the delivery; 0 if there is none.
  int superstep = 0;
  std::string request{};
  Json value{};
  std::optional<CheckpointInfo> checkpoint{};
  std::optional<Error> error{};
};

// Called on the threads that make the events, several at once; must not call back into the run.
// What it throws is swallowed.
using WorkflowObserver = std::function<void(const WorkflowEvent&)>;

}  // namespace triage::inline v0_1::workflow
