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

// From the failure's own field, else from its headers: retry-after-ms, retry-after (seconds or an
// HTTP date, which is measured against the date header), x-ratelimit-reset-after, ratelimit-reset.
[[nodiscard]] RetryAfter find_retry_after(const Failure& failure);

// "1.5", "20s", "6m0s", "1h 30 min", "250 ms", "two" -> empty. A bare number is in seconds.
[[nodiscard]] std::optional<Duration> parse_wait(std::string_view text);
// The first such length anywhere in a phrase: "try again in 6m0s" -> 6 minutes. A number without a
// unit counts as seconds.
[[nodiscard]] std::optional<Duration> find_wait(std::string_view phrase);
// "Sun, 06 Nov 1994 08:49:37 GMT" in seconds since 1970. Empty for any other form.
// Source: RFC 9110, section 5.6.7, IMF-fixdate.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace triage::inline v0_1::detail
