// SPDX-License-Identifier: MIT
#pragma once
// Commands that are printed for people to type.

#include "triage/json.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// As a printable word of a shell's line; what cannot be printed makes it one for bash, zsh and ksh.
[[nodiscard]] inline std::string shell_word(const std::string& text) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  if (printable(text) != text) {
    std::string escaped;
    for (const char c : text) escaped += (c == '\\' || c == '\'' ? "\\" : "") + std::string(1, c);
    return "$'" + printable(escaped) + "'";  // Which writes \n and \x1b, as those shells do.
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace triage::inline v0_1::detail
