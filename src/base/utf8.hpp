// SPDX-License-Identifier: MIT
#pragma once
// UTF-8, character by character. Private.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// The length of the valid UTF-8 sequence at the front of `text`, which is not empty; or 0.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0U) == 0x80U; };
  const unsigned char lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead >= 0xC2U && lead <= 0xDFU) return tail(1) ? 2 : 0;
  if (lead >= 0xE0U && lead <= 0xEFU) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead == 0xE0U && byte(1) < 0xA0U) return 0;  // Overlong.
    if (lead == 0xEDU && byte(1) > 0x9FU) return 0;  // Surrogate.
    return 3;
  }
  if (lead >= 0xF0U && lead <= 0xF4U) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    if (lead == 0xF0U && byte(1) < 0x90U) return 0;
    if (lead == 0xF4U && byte(1) > 0x8FU) return 0;
    return 4;
  }
  return 0;
}

// Appends a code point of at most 21 bits.
inline void append_utf8(std::uint32_t code, std::string& out) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  const auto tail = [&](unsigned shift) { byte(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0U | code >> 6U);
    tail(0);
  } else if (code < 0x10000) {
    byte(0xE0U | code >> 12U);
    tail(6);
    tail(0);
  } else {
    byte(0xF0U | (code >> 18U & 7U));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace triage::inline v0_1::detail
