// SPDX-License-Identifier: MIT
#pragma once
// Durations as policy files and descriptions spell them: "500ms", "2s", "1m30s".

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// The shortest exact spelling in d, h, m, s, ms, us and ns: "1m30s". "0s" for zero; a minus sign in
// front of a negative one. parse_duration() reads back every one that is not negative.
[[nodiscard]] std::string format_duration(Duration duration);

// One or more of NUMBER and UNIT without spaces, units from large to small, each at most once.
// Units: d h m s ms us ns. A number may have a fraction ("1.5s"); what is below 1 ns is cut off.
// Errors: Errc::invalid_argument; a duration is not negative and at most 106,751 days.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

// Seconds as a number: how policy files may also give a duration.
// Errors: Errc::invalid_argument for negative, non-finite and too large numbers.
[[nodiscard]] Result<Duration> duration_from_seconds(double seconds);

}  // namespace triage::inline v0_1
