// SPDX-License-Identifier: MIT
#pragma once
// What a byte is to the tokenizer. Private.

#include <array>
#include <cstdint>

namespace triage::inline v0_1::detail {

enum class CharKind : std::uint8_t { other, space, digit, lower, upper, high };

inline constexpr std::array<CharKind, 256> char_kinds = [] {
  std::array<CharKind, 256> kinds{};
  for (unsigned c = 'a'; c <= 'z'; ++c) kinds[c] = CharKind::lower;
  for (unsigned c = 'A'; c <= 'Z'; ++c) kinds[c] = CharKind::upper;
  for (unsigned c = '0'; c <= '9'; ++c) kinds[c] = CharKind::digit;
  for (unsigned c = 0x80; c <= 0xFF; ++c) kinds[c] = CharKind::high;
  for (const unsigned c : {0x20U, 0x09U, 0x0BU, 0x0CU, 0x0DU}) kinds[c] = CharKind::space;
  return kinds;
}();

[[nodiscard]] inline CharKind kind_of(char c) noexcept {
  return char_kinds[static_cast<unsigned char>(c)];
}
[[nodiscard]] inline bool is_token_letter(char c) noexcept { return kind_of(c) >= CharKind::lower; }

}  // namespace triage::inline v0_1::detail
