// SPDX-License-Identifier: MIT
#pragma once
// How long the other side asked us to wait. Private.

#include "triage/failure.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

struct RetryAfter {
  std::optional<Duration> wait{};  // Never negative; at most what a Duration can hold.
  std::string source{};            // The header's name in lower case, or "retry_after".
  std::string note{};              // Set instead of `wait` if a header was there but of no use.
};

// From the failure's own field, else from its headers: retry-after-ms, retry-after,
// x-ratelimit-reset-after, ratelimit-reset, x-ratelimit-reset; else, with status 429, the longest
// of the resets that OpenAI and Anthropic send. Each is a length ("20", "6m0s") or a moment (HTTP
// date, RFC 3339, seconds or milliseconds since 1970), which is measured against the date header.
[[nodiscard]] RetryAfter find_retry_after(const Failure& failure);

// "1.5", "20s", "6m0s", "1h 30 min", "250 ms", "two" -> empty. A bare number is in seconds.
[[nodiscard]] std::optional<Duration> parse_wait(std::string_view text);
// The first such length anywhere in a phrase: "try again in 6m0s" -> 6 minutes. A number without a
// unit counts as seconds.
[[nodiscard]] std::optional<Duration> find_wait(std::string_view phrase);
// "2026-11-21T10:00:00.5+01:00" in seconds since 1970. Empty for any other form.
// Source: RFC 3339, section 5.6.
[[nodiscard]] std::optional<std::int64_t> parse_internet_date(std::string_view text);
// "Sun, 06 Nov 1994 08:49:37 GMT" in seconds since 1970. Empty for any other form.
// Source: RFC 9110, section 5.6.7, IMF-fixdate.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace triage::inline v0_1::detail
