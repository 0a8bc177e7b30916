// SPDX-License-Identifier: MIT
#pragma once
// The problems of a document, one per line: an error lists them all, or says how many more there
// are. Not public API.

#include "triage/json.hpp"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

// The last line of a list that was cut: "and 3 more mistakes".
inline constexpr std::string_view left_out_begin = "and ";
inline constexpr std::string_view left_out_end = " more mistakes";

// How many this line stands for; 0 if it is a problem itself.
inline std::size_t left_out(std::string_view line) {
  if (!line.starts_with(left_out_begin) || !line.ends_with(left_out_end)) return 0;
  std::size_t count = 0;
  std::from_chars(line.data() + left_out_begin.size(), line.data() + line.size(), count);
  return count;
}

inline std::string left_out_line(std::size_t count) {
  return std::string(left_out_begin) + std::to_string(count) + std::string(left_out_end);
}

// Prefixes each line of `problems` with `path`: ".window is 0" becomes
// "gates.circuit_breaker.window is 0".
inline std::string behind(std::string_view path, std::string_view problems) {
  std::string all;
  for_each_line(problems, [&](std::string_view line) {
    const bool goes_on =
        !line.empty() && std::string_view(". :[").find(line.front()) != std::string_view::npos;
    if (!all.empty()) all += '\n';
    if (left_out(line) > 0) {
      all += line;
      return;
    }
    all.append(path).append(goes_on || path.empty() ? "" : ": ").append(line);
  });
  return all;
}

// Appends problems: 50 lines are kept, and the number of those left out.
inline void add_problems(std::string& all, std::string_view more) {
  constexpr std::size_t most = 50;
  std::string kept;
  std::size_t known = 0;
  std::size_t others = 0;
  const auto add = [&](std::string_view line) {
    if (const std::size_t before = left_out(line); before > 0) {
      others += before;
    } else if (++known > most) {
      ++others;
    } else {
      (kept += kept.empty() ? "" : "\n").append(line);
    }
  };
  if (!all.empty()) for_each_line(all, add);
  for_each_line(more, add);
  if (others > 0) (kept += "\n").append(left_out_line(others));
  all = std::move(kept);
}

// A value as shown in an error, shortened but recognisable.
inline std::string shown(const Json& value) {
  constexpr std::size_t longest = 80;
  std::string text = show(value);
  if (text.size() > longest) text = text.substr(0, longest) + "…";
  return printable(text);
}

}  // namespace triage::inline v0_1::detail
