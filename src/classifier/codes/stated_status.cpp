// SPDX-License-Identifier: MIT
#include "classifier/codes/stated_status.hpp"

#include "base/ascii.hpp"
#include "classifier/phrases/rules.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_status_marks = 4;     // Between name and number: ": ", " = (".
constexpr std::size_t longest_status_name = 16;  // Longer names are not looked at.

bool is_word_byte(char c) { return is_alnum(c) || c == '_'; }

// Words before a number that make it a status. Protocol versions were removed before.
bool names_status(std::string_view before) {
  constexpr std::array<std::string_view, 8> names{"http",        "status",       "status code",
                                                  "status_code", "status-code",  "statuscode",
                                                  "error code",  "response code"};
  const char last = before.empty() ? '\0' : before.back();
  if (last != 'p' && last != 's' && last != 'e') return false;  // Each ends in one of these.
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    if (!before.ends_with(name)) return false;
    const std::string_view rest = before.substr(0, before.size() - name.size());
    return rest.empty() || !is_word_byte(rest.back()) || rest.ends_with("http") ||
           rest.back() == '_';
  });
}

// "http/1.1" without its version.
std::string_view without_version(std::string_view before) {
  std::string_view rest = before;
  while (!rest.empty() && (is_digit(rest.back()) || rest.back() == '.')) rest.remove_suffix(1);
  if (rest.size() == before.size() || !rest.ends_with("http/")) return before;
  rest.remove_suffix(1);
  return rest;
}

bool is_status_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end > 0 && at - end < most_status_marks && !is_word_byte(text[end - 1])) --end;
  if (end == at) return false;
  std::array<char, longest_status_name> buffer{};
  const std::size_t begin = end - std::min(end, longest_status_name);
  std::transform(text.begin() + static_cast<std::ptrdiff_t>(begin),
                 text.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin(), lower);
  return names_status(without_version({buffer.data(), end - begin}));
}

}  // namespace

std::optional<int> stated_http_status(std::string_view text) noexcept {
  std::optional<int> found;
  const bool is_long = text.size() > 2 * text_window_bytes;
  const std::string_view tail = is_long ? text.substr(text.size() - text_window_bytes) : "";
  for (const std::string_view window : {is_long ? text.substr(0, text_window_bytes) : text, tail}) {
    std::size_t next = 1;
    while (next + 3 <= window.size()) {
      const std::size_t at = next;
      if (!is_digit(
              window[at + 2])) {  // No number of three digits begins here or before that byte.
        next += 3;
        continue;
      }
      ++next;
      if (window[at] != '4' && window[at] != '5') continue;
      if (!is_digit(window[at + 1]) || is_word_byte(window[at - 1])) continue;
      if (at + 3 < window.size() && is_word_byte(window[at + 3])) continue;
      if (!is_status_at(window, at)) continue;
      const int status =
          (window[at] - '0') * 100 + (window[at + 1] - '0') * 10 + (window[at + 2] - '0');
      if (found && *found != status) return std::nullopt;
      found = status;
    }
  }
  return found;
}

}  // namespace triage::inline v0_1::detail
