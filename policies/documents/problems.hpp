// SPDX-License-Identifier: MIT
#pragma once
// The problems of a policy document, one per line: an error lists them all. Private.

#include <string>
#include <string_view>

#include "triage/json.hpp"

namespace triage::inline v0_1::detail {

// Calls f(line) for every line of `text`.
template <class F>
void for_each_line(std::string_view text, F&& f) {
  while (true) {
    const std::size_t end = text.find('\n');
    f(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Prefixes each line of `problems` with `path`: ".window is 0" becomes
// "gates.circuit_breaker.window is 0".
inline std::string behind(std::string_view path, std::string_view problems) {
  std::string all;
  for_each_line(problems, [&](std::string_view line) {
    const bool goes_on =
        !line.empty() && std::string_view(". :[").find(line.front()) != std::string_view::npos;
    if (!all.empty()) all += '\n';
    all.append(path).append(goes_on || path.empty() ? "" : ": ").append(line);
  });
  return all;
}

// Appends problems; at most 50 lines are kept.
inline void add_problems(std::string& all, std::string_view more) {
  constexpr int most = 50;
  int known = 0;
  if (!all.empty()) for_each_line(all, [&](std::string_view) { ++known; });
  for_each_line(more, [&](std::string_view line) {
    if (++known <= most) (all += all.empty() ? "" : "\n").append(line);
  });
}

// A value as shown in an error, shortened but recognisable.
inline std::string shown(const Json& value) {
  constexpr std::size_t longest = 80;
  std::string text = show(value);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return printable(text);
}

}  // namespace triage::inline v0_1::detail
