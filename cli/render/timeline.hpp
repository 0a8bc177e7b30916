// SPDX-License-Identifier: MIT
#pragma once
// What happened in a run, in sentences and as JSON.

#include "exit_status.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// "running", "died" (nobody holds the run any more, and it never ended), "finished" and so on.
[[nodiscard]] std::string status_text(const RunInfo& run);
// A checkpoint's label, unless it is a mark that triage made for itself and `all` is false.
[[nodiscard]] std::string shown_label(const std::string& label, bool all);

// A run that a workflow makes of its own, for the tries of one executor or an act on a resource: it
// has a parent, and its id ends with a mark that nobody gives by hand.
[[nodiscard]] bool is_of_workflow(const RunInfo& run);
// Takes those away unless `all`; returns how many there were.
std::size_t hide_those_of_workflows(std::vector<RunInfo>& runs, bool all);

[[nodiscard]] Json run_json(const RunInfo& run);

// One thing that happened to a run beside its steps.
struct TimelineEvent {
  Sequence seq = 0;
  WallTime time{};
  std::string sentence{};  // "Attempt 2 failed at step 7 (fetch): external_fault, …"
  Json fields{};           // The record's kind and body, for programs.
};

struct Timeline {
  Journal journal{};
  std::vector<TimelineEvent> events{};
};

// Folds the run and tells its failures, decisions, rollbacks, resumes and its end, oldest first.
// until: records behind this sequence are left out. Errors: Errc::corrupt.
[[nodiscard]] Result<Timeline> read_timeline(const JournalReading& reading, Sequence until);

// Tells stderr what is damaged or missing; the status is `unreadable` then, else `done`.
ExitStatus warn_of_damage(const JournalReading& reading);

}  // namespace triage::inline v0_1::cli
