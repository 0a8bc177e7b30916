// SPDX-License-Identifier: MIT
#pragma once
// What a run was given when it began: its deadline, limits of its own, and how long it has been at
// work. Journaled whenever it begins, waits or goes on, so that it goes on with what it had.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/limits.hpp"

#include <optional>

namespace triage::inline v0_1::detail {

struct Terms {
  std::optional<WallTime> deadline{};
  std::optional<Limits> limits{};
  Duration elapsed{0};  // Without the time that the run was suspended, stopped or dead.
};

// Sets the fields in the body of a record; what a run does not have is removed.
void put_terms(const Terms& terms, Json& body);
// As the newest record that states them says. The time until the newest record of a run that died
// counts as elapsed.
[[nodiscard]] Terms terms_of(const JournalReading& reading);

// A point of one clock on the other one; far ones stay in range.
[[nodiscard]] WallTime wall_time(Clock& clock, TimePoint when);
[[nodiscard]] TimePoint time_point(Clock& clock, WallTime when);

}  // namespace triage::inline v0_1::detail
