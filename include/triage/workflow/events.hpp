// SPDX-License-Identifier: MIT
#pragma once
// What a workflow run reports to its observers.

#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/workflow/checkpoints.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow {

// The names (to_string) are stable. Kinds marked (live) reach observers only; the run_ ones are in
// the journal only.
enum class WorkflowEventKind : std::uint8_t {
  run_started,
  run_resumed,      // Or began as a branch.
  run_rolled_back,  // As a whole; what it restored is in `checkpoint`.
  run_suspended,
  run_finished,
  run_stopped,         // Without a result: failed, escalated, cancelled.
  executor_started,    // (live) Its handler is about to be called.
  executor_completed,  // With what it sent in `value`.
  executor_failed,   // With the reason in `value`, and live in `error` if nothing is sent instead.
  executor_reused,   // (live) It had finished before; what it had sent and given is in `value`.
  output,            // With `value`.
  request_opened,    // With `request` and its payload in `value`.
  request_answered,  // With `request` and the answer in `value`.
  request_expired,   // With `request`: nobody answered in time.
  superstep_completed,  // With `checkpoint`, if one was made of it; the journal has only those.
  checkpoint_saved,     // With `checkpoint`.
  resource_changed,     // (live) With its name, kind, and digest before and now in `value`.
  // (live) With `error`; the run continues, and the next checkpoint includes what is missing.
  checkpoint_save_failed,
  // Nothing more begins, and what was at work has ended. With what has not begun in `value`:
  // [[EXECUTOR, OCCURRENCE], …].
  budget_spent,
  deadline_passed,  // The same.
  // The run is at its end, and a fan-in to `executor` still waits. With what it waits for in
  // `value`: {"from": […], "waits_for": […]}, executors whose messages it has and those it lacks.
  join_left_waiting,
};
[[nodiscard]] std::string_view to_string(WorkflowEventKind kind) noexcept;

struct WorkflowEvent {
  WorkflowEventKind kind = WorkflowEventKind::run_started;
  Sequence sequence = 0;   // Of its record; live: 0.
  WallTime time{};         // Of the record; live: none.
  std::string executor{};  // Its path; empty for events of the whole run.
  int occurrence = 0;      // Of the delivery; 0 without one.
  int superstep = 0;
  std::string request{};
  Json value{};
  std::optional<WorkflowCheckpoint> checkpoint{};
  std::optional<Error> error{};
};

// Called on the threads that cause the events, several at once; must not call back into the run.
// Exceptions are swallowed.
using WorkflowObserver = std::function<void(const WorkflowEvent&)>;

}  // namespace triage::inline v0_1::workflow
