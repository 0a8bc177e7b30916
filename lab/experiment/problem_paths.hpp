// SPDX-License-Identifier: MIT
#pragma once
// The paths of the problems of an experiment's parts, as seen from its file.

#include "triage/detail/problems.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::lab::detail {

// Prefixes every line with these words.
inline std::string behind(const std::string& words, std::string_view lines) {
  std::string all;
  triage::detail::for_each_line(lines, [&](std::string_view line) {
    all += all.empty() ? "" : "\n";
    if (triage::detail::left_out(line) == 0) all += words;
    all += line;
  });
  return all;
}

// Top-level keys have no path before their dot.
inline std::string without_first_dots(std::string_view lines) {
  std::string all;
  for (const char c : lines) {
    if (c != '.' || !(all.empty() || all.back() == '\n')) all += c;
  }
  return all;
}

}  // namespace triage::inline v0_1::lab::detail
