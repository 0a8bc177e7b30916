// SPDX-License-Identifier: MIT
#pragma once
// A run's events, as sentences and as JSON.

#include "exit_status.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// "running", "died" (without an owner or an end), "finished" and so on.
[[nodiscard]] std::string status_text(const RunInfo& run);

// A run that a workflow makes of its own, for the tries of one executor or an act on a resource: it
// has a parent, and its id ends with a mark that nobody gives by hand.
[[nodiscard]] bool is_of_workflow(const RunInfo& run);
// Takes those away unless `all`; returns how many there were.
std::size_t hide_those_of_workflows(std::vector<RunInfo>& runs, bool all);

[[nodiscard]] Json run_json(const RunInfo& run);

// Something that happened to a run, other than a step.
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

// Folds the run and returns its failures, decisions, rollbacks, resumptions and end, oldest first.
// until: omits records after this sequence. Errors: Errc::corrupt.
[[nodiscard]] Result<Timeline> read_timeline(const JournalReading& reading, Sequence until);

// Reports damaged and missing records on stderr; returns `unreadable` then, else `done`.
ExitStatus warn_of_damage(const JournalReading& reading);

}  // namespace triage::inline v0_1::cli
