// SPDX-License-Identifier: MIT
#pragma once
// What the members of an envelope are called. Private to this room.

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// What the value of a member is.
enum class Role : std::uint8_t { other, message, code, wait };

// By the name of a member, in any case, with or without "_", "-", "." and "@".
[[nodiscard]] Role role_of(std::string_view key);
// "error", "api_error", "internal_error": whatever happens gets these.
[[nodiscard]] bool is_common_code(std::string_view code);

}  // namespace triage::inline v0_1::detail
