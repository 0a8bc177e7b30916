// SPDX-License-Identifier: MIT
#pragma once
// Commands that are printed for people to type.

#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// As a word of a shell's line.
[[nodiscard]] inline std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace triage::inline v0_1::cli
