// SPDX-License-Identifier: MIT
#pragma once
// How long the other side asked us to wait. Private.

#include "triage/classification.hpp"
#include "triage/failure.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

struct RetryAfter {
  std::optional<Duration> wait{};  // Never negative; at most what a Duration can hold.
  std::string source{};            // The header's name in lower case, or "retry_after".
  std::string note{};              // Set instead of `wait` if a header was present but unusable.
};

// From the failure's own field, else from its headers: retry-after-ms, retry-after; if a limit was
// hit also x-ratelimit-reset-after, ratelimit-reset, x-ratelimit-reset, or else the longest of the
// resets of several limits (x-ratelimit-reset-tokens). A limit was hit if the status is 429, if
// `found` says so, or if the headers of a 403 or 503 say that nothing remains. Each is a duration
// ("20", "6m0s") or a point in time (HTTP date, RFC 3339, seconds or milliseconds since 1970),
// relative to the date header, or else to the clock, if there is one.
// found: type and reason of the failure.
[[nodiscard]] RetryAfter find_retry_after(const Failure& failure, const Classification& found,
                                          Clock* clock);

// "1.5", "20s", "6m0s", "1h 30 min", "250 ms", "two" -> empty. A bare number is in seconds.
[[nodiscard]] std::optional<Duration> parse_wait(std::string_view text);

struct WaitInText {
  std::optional<Duration> wait{};
  bool undated = false;  // A point in time is named, but the current time is unknown.
};
// What the phrase, a part of the text found by a rule, asks for: the point in time it names
// ("resets at 2026-12-01 00:00 UTC") or else, unless date_only, the duration ("try again in 6m0s",
// "in less than a minute").
[[nodiscard]] WaitInText find_wait(std::string_view text, std::string_view phrase, bool date_only,
                                   const Failure& failure, Clock* clock);

}  // namespace triage::inline v0_1::detail
