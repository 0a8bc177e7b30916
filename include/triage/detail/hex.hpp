// SPDX-License-Identifier: MIT
#pragma once
// Bytes and numbers as lower-case hexadecimal digits, and back. Not public API.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

inline constexpr std::string_view hex_digits = "0123456789abcdef";

// Appends the two digits of a byte.
inline void append_hex(char byte, std::string& out) {
  out.push_back(hex_digits[static_cast<unsigned char>(byte) >> 4U]);
  out.push_back(hex_digits[static_cast<unsigned char>(byte) & 15U]);
}

[[nodiscard]] inline std::string to_hex(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) append_hex(byte, text);
  return text;
}

// The bytes; empty unless `text` is an even number of lower-case digits.
[[nodiscard]] inline std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = hex_digits.find(text[i]);
    const std::size_t low = hex_digits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4U | low));
  }
  return bytes;
}

// The last `digits` digits of a number, with leading zeros.
[[nodiscard]] inline std::string hex_number(std::uint64_t number, std::size_t digits = 16) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i > 0; --i, number >>= 4U) text[i - 1] = hex_digits[number & 15U];
  return text;
}

}  // namespace triage::inline v0_1::detail
