// SPDX-License-Identifier: MIT
#pragma once
// Times as the programs of this machine print them for people: in its own zone.

#include "triage/clock.hpp"

#include <string>

namespace triage::inline v0_1::supervise {

// Names the zone behind each time of twelve hours ("3pm", "Jan 2nd, 2026 3:45 PM") that has none,
// or has this machine's by a name such as (Europe/Berlin): "3pm (UTC+01:00)". It is the one in
// force at that time, which may be on the other side of a change of clocks.
[[nodiscard]] std::string with_zones(const std::string& text, WallTime now);

}  // namespace triage::inline v0_1::supervise
