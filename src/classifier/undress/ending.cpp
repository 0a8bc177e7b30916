// SPDX-License-Identifier: MIT
#include "classifier/undress/ending.hpp"

#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"

#include <algorithm>
#include <cstddef>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::ptrdiff_t most_message_lines = 6;  // A message of up to as many is read whole.
constexpr std::size_t longest_ending = 2'000;
constexpr int few_lines = 3;

}  // namespace

std::array<EndingPart, 2> endings_of(std::string_view text) noexcept {
  text = undressing::trimmed(text);
  const auto line_ends = std::count(text.begin(), text.end(), '\n');
  if (line_ends == 0) return {};
  const bool is_long = line_ends >= most_message_lines;
  EndingPart line{.of = is_long ? TextEnding::last_line : TextEnding::last_line_of_few};
  EndingPart lines{.of = TextEnding::last_lines};
  std::size_t begin = text.size();
  for (int count = 0; count < (is_long ? few_lines : 1) && begin > 0;) {
    const std::size_t end = text.rfind('\n', begin - 1);
    const std::size_t next = end == std::string_view::npos ? 0 : end + 1;
    const std::string_view one = text.substr(next, begin - next);
    begin = end == std::string_view::npos ? 0 : end;
    if (text.size() - next > longest_ending) break;
    if (line.text.empty() && says_little(one)) continue;
    if (line.text.empty()) line.text = undressing::trimmed(one);
    if (is_long) lines.text = text.substr(next);
    ++count;
  }
  return {line, lines};
}

}  // namespace triage::inline v0_1::detail
