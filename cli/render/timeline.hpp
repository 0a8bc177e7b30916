// SPDX-License-Identifier: MIT
#pragma once
// A run's events, as sentences and as JSON.

#include "command_status.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/journal.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

[[nodiscard]] Json run_json(const RunInfo& run);
// "No runs.", or that none fits if only `some` were asked for.
[[nodiscard]] const char* no_runs(bool some) noexcept;
// Says on stderr that the limit has left some out. what: "run", for example.
void warn_of_more(std::size_t limit, const char* what);
// Reports runs whose entries are damaged on stderr; returns `unreadable` then, else `done`.
ExitStatus warn_of_damaged_runs(const std::vector<RunInfo>& runs);

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
// Secrets are redacted in what happened, as a run of `triage run` asks for. until: omits records
// after this sequence. Errors: Errc::corrupt.
[[nodiscard]] Result<Timeline> read_timeline(const JournalReading& reading, Sequence until);

// Reports damaged and missing records on stderr; returns `unreadable` then, else `done`.
ExitStatus warn_of_damage(const JournalReading& reading);

}  // namespace triage::inline v0_1::cli
