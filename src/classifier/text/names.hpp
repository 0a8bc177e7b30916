// SPDX-License-Identifier: MIT
#pragma once
// Finds names in a text: what a tool is called says nothing about what went wrong. Private.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

inline constexpr std::size_t longest_line_with_names = 4096;  // Longer lines are data.

struct NamePlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Appends the places of the names of tools, functions, commands, agents and models in one line:
// after such a word ("tool refund", "no such function 'f'", "method not found: x"), before one ("x
// is no known tool", "x: command not found"), after a call ("called x_y", "a call to x_y"), and in
// lists ("available: a, b"). Behind other things that have one ("resource", "task", "key"), what
// cannot be an ordinary word is a name. In order, without overlaps. Linear.
void find_names(std::string_view line, std::vector<NamePlace>& places);

// A quick check: false for words that cannot be part of a name, such as two separated by a blank.
[[nodiscard]] bool may_be_in_name(std::string_view words) noexcept;

// The line with every name replaced by a neutral one.
[[nodiscard]] std::string without_names(std::string_view line,
                                        const std::vector<NamePlace>& places);

}  // namespace triage::inline v0_1::detail
