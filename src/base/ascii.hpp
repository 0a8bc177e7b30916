// SPDX-License-Identifier: MIT
#pragma once
// Locale-independent character classes: ASCII only. Private.

namespace triage::inline v0_1::detail {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool is_letter(char c) noexcept { return is_upper(c) || is_lower(c); }
[[nodiscard]] constexpr bool is_alnum(char c) noexcept { return is_letter(c) || is_digit(c); }

// A to Z in lower case; every other byte unchanged.
[[nodiscard]] constexpr char lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace triage::inline v0_1::detail
