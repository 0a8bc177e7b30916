// SPDX-License-Identifier: MIT
#pragma once
// Character classes, and reading a text from left to right. Private to this room.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/ascii.hpp"

namespace triage::inline v0_1::detail::undressing {

constexpr bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_space(char c) { return is_blank(c) || c == '\n' || c == '\r'; }
constexpr bool is_hex(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }

constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}
constexpr bool same_word(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() && std::equal(a.begin(), a.end(), lower_case.begin(),
                                                     [](char x, char y) { return lower(x) == y; });
}
// `words` are in lower case.
template <std::size_t Count>
bool is_one_of(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return same_word(word, known); });
}
inline bool has_letter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_high(c); });
}

// Where the first or last byte of a kind is, or npos. find_first_of() of the standard library
// searches its set by a call for every byte.
template <class Is>
constexpr std::size_t first_where(std::string_view text, Is is) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is(text[at])) return at;
  }
  return std::string_view::npos;
}
template <class Is>
constexpr std::size_t last_where(std::string_view text, Is is) {
  for (std::size_t at = text.size(); at-- > 0;) {
    if (is(text[at])) return at;
  }
  return std::string_view::npos;
}

// Reads one line from left to right.
struct Reader {
  std::string_view text;
  std::size_t at = 0;

  [[nodiscard]] bool done() const { return at >= text.size(); }
  [[nodiscard]] char next(std::size_t ahead = 0) const {
    return at + ahead < text.size() ? text[at + ahead] : '\0';
  }
  [[nodiscard]] std::string_view rest() const { return text.substr(std::min(at, text.size())); }
  bool take(char c) {
    if (next() != c) return false;
    ++at;
    return true;
  }
  bool take(std::string_view words) {  // One or more.
    if (next() != words.front() || !rest().starts_with(words)) return false;
    at += words.size();
    return true;
  }
  template <class Is>
  std::string_view take_while(Is is) {
    const std::size_t begin = at;
    while (at < text.size() && is(text[at])) ++at;
    return text.substr(begin, at - begin);
  }
  bool digits(std::size_t least, std::size_t most) {
    std::size_t count = 0;
    while (is_digit(next(count))) ++count;
    if (count < least || count > most) return false;
    at += count;
    return true;
  }
  void blanks() { take_while(is_blank); }
};

}  // namespace triage::inline v0_1::detail::undressing
