// SPDX-License-Identifier: MIT
#pragma once
// Durations in the format of policy files and descriptions: "500ms", "2s", "1m30s".

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1 {

// The shortest exact form in d, h, m, s, ms, us and ns: "1m30s". "0s" for zero; a leading minus if
// negative. parse_duration() reads back all that are not negative.
[[nodiscard]] std::string format_duration(Duration duration);

// One or more of NUMBER and UNIT without spaces, units from large to small, each at most once.
// Units: d h m s ms us ns. Numbers may have a fraction ("1.5s"); what is below 1 ns is truncated.
// Errors: Errc::invalid_argument; a duration is not negative and at most 106,751 days.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

// From seconds, the other form of a duration in policy files.
// Errors: Errc::invalid_argument for negative, non-finite and too large numbers.
[[nodiscard]] Result<Duration> duration_from_seconds(double seconds);

}  // namespace triage::inline v0_1
