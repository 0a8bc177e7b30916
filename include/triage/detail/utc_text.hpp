// SPDX-License-Identifier: MIT
#pragma once
// Times in UTC as text. Not public API.

#include "triage/clock.hpp"

#include <chrono>
#include <string>

namespace triage::inline v0_1::detail {

// In a form of strftime() that fills at most 63 bytes; empty if the year is too large.
[[nodiscard]] std::string utc_text(std::chrono::sys_seconds time, const char* form);
// Without the milliseconds, rounded down.
[[nodiscard]] std::string utc_text(WallTime time, const char* form);
// And ".123" behind it.
[[nodiscard]] std::string utc_text_ms(WallTime time, const char* form);

}  // namespace triage::inline v0_1::detail
