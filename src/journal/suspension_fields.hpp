// SPDX-License-Identifier: MIT
#pragma once
// What the body of `suspended` says of a run's waits, its nested runs, and the step that is asked
// about.

#include "triage/clock.hpp"
#include "triage/detail/run_facts.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/run_id.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// A sleep at a place is over only at its own time.
struct Sleep {
  std::string place{};
  WallTime until{};
  WallTime::duration length{0};
};

void put_signals(const std::vector<std::string>& signals, Json& fields);
[[nodiscard]] std::vector<std::string> signals_of(const Json& suspended);

// until: of the suspension.
void put_sleeps(const std::vector<Sleep>& sleeps, std::optional<WallTime> until, Json& fields);
[[nodiscard]] std::vector<Sleep> sleeps_of(const Json& suspended);

// Those of signals and sleeps.
void erase_waits(Json& fields);

// The nested runs that a suspended run waits for. The one that the suspension asks about is last.
using AwaitedRuns = std::vector<std::pair<RunId, AwaitedRun>>;

// asks: the suspension is for the last of them.
void put_children(const AwaitedRuns& children, bool asks, Json& fields);
[[nodiscard]] AwaitedRuns children_of(const Json& suspended);
// The one that the suspension asks about; empty if there is none.
[[nodiscard]] RunId awaited_child(const Json& suspended);

[[nodiscard]] Json step_json(const ProposedStep& step);

}  // namespace triage::inline v0_1::detail
