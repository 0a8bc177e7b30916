// SPDX-License-Identifier: MIT
#pragma once
// Where names stand in a text: what a tool is called says nothing about what went wrong. Private.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct NamePlace {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Appends where, in one line, the names of tools, functions, commands, agents and models stand:
// behind such a word ("tool refund", "model: gpt-x", "no such function 'f'"), in front of one ("x
// is no known tool"), behind a call ("called x_y"), and in lists of what there is ("available: a,
// b"). In order, without overlaps. Linear.
void find_names(std::string_view line, std::vector<NamePlace>& places);

// False for words of which no name consists, such as two with a blank between them: the cheap
// answer.
[[nodiscard]] bool may_be_in_name(std::string_view words) noexcept;

// The line with every name replaced by one that says nothing.
[[nodiscard]] std::string without_names(std::string_view line,
                                        const std::vector<NamePlace>& places);

}  // namespace triage::inline v0_1::detail
