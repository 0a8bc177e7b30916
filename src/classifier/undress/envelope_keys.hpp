// SPDX-License-Identifier: MIT
#pragma once
// The member names used in envelopes. Private to this room.

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// What a member's value is.
enum class Role : std::uint8_t { other, message, code, wait, wait_ms };

// Ignores case, "_", "-", "." and "@".
[[nodiscard]] Role role_of(std::string_view key);
// "error", "api_error", "internal_error": codes used for every failure.
[[nodiscard]] bool is_common_code(std::string_view code);

}  // namespace triage::inline v0_1::detail
