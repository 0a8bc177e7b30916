// SPDX-License-Identifier: MIT
#pragma once
// What a run was given at its start: its deadline, its own limits, and its working time so far.
// Journaled whenever it starts, waits or continues, so that these survive a change of process.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"

#include <optional>

namespace triage::inline v0_1::detail {

struct Terms {
  std::optional<WallTime> deadline{};
  std::optional<Limits> limits{};
  Duration elapsed{0};  // Excludes time spent suspended, stopped or dead.
};

// Sets the fields in a record's body; removes those that are unset.
void put_terms(const Terms& terms, Json& body);
// From the newest record that states them. If a run died, the time until its newest record counts
// as elapsed.
[[nodiscard]] Terms terms_of(const JournalReading& reading);

// Converts a point in time between the two clocks; distant ones stay in range.
[[nodiscard]] WallTime wall_time(Clock& clock, TimePoint when);
[[nodiscard]] TimePoint time_point(Clock& clock, WallTime when);

}  // namespace triage::inline v0_1::detail
