// SPDX-License-Identifier: MIT
#pragma once
// Numbers as Redis stores them: texts of decimal digits.

#include <charconv>
#include <string_view>
#include <system_error>

namespace triage::inline v0_1::detail {

template <class T>
[[nodiscard]] bool is_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// 0 for other texts.
template <class T>
[[nodiscard]] T number(std::string_view text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace triage::inline v0_1::detail
