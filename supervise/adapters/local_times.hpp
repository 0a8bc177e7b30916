// SPDX-License-Identifier: MIT
#pragma once
// Times as the programs of this machine print them for people: in its own zone.

#include "triage/clock.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// Names the zone behind each time of twelve hours ("3pm", "Jan 2nd, 2026 3:45 PM") that has none,
// or has this machine's by a name such as (Europe/Berlin): "3pm (UTC+01:00)". The zone is that of
// `now`, so a time beyond a change of clocks is an hour off.
[[nodiscard]] std::string with_zones(const std::string& text, WallTime now);

}  // namespace triage::inline v0_1::supervise
