// SPDX-License-Identifier: MIT
#pragma once
// Points in time as written in headers and texts, in seconds since 1970. Fractions are rounded up,
// so that nobody waits too short. Private.

#include "triage/clock.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

// "2026-11-21T10:00:00.5+01:00". Empty for any other form. Source: RFC 3339, section 5.6.
[[nodiscard]] std::optional<std::int64_t> parse_internet_date(std::string_view text);
// "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" (years 1970 to 2069) or
// "Sun Nov  6 08:49:37 1994". Empty for any other form. Source: RFC 9110, section 5.6.7.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text);
// Seconds or milliseconds since 1970, of the years 2001 to 2286: "1792576860", "1792576860123".
[[nodiscard]] std::optional<std::int64_t> parse_epoch(std::string_view text);

// The point in time at the start of a text, as people and machines write it: "2026-12-01 at 00:00
// UTC", "Oct 21, 2026, 10:00 AM (PDT)", "Wed, 21 Oct 2026 10:00:30 GMT", "10:30 UTC", "3pm",
// 1792576860, "Mon 12:00am". `now` supplies what is missing: a time without a day is the next such
// time, or one that has just passed, on that weekday if one is named; a day without a year the next
// such day, a day without a time its beginning. The default zone is UTC.
[[nodiscard]] std::optional<std::int64_t> read_moment(std::string_view text, WallTime now);

}  // namespace triage::inline v0_1::detail
