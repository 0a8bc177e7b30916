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

std::array<std::string_view, 2> endings_of(std::string_view text) noexcept {
  text = undressing::trimmed(text);
  if (std::count(text.begin(), text.end(), '\n') < most_message_lines) return {};
  std::array<std::string_view, 2> endings{};
  std::size_t begin = text.size();
  for (int lines = 0; lines < few_lines && begin > 0;) {
    const std::size_t end = text.rfind('\n', begin - 1);
    const std::size_t next = end == std::string_view::npos ? 0 : end + 1;
    const std::string_view line = text.substr(next, begin - next);
    begin = end == std::string_view::npos ? 0 : end;
    if (text.size() - next > longest_ending) break;
    if (endings[0].empty() && says_little(line)) continue;
    if (endings[0].empty()) endings[0] = undressing::trimmed(line);
    endings[1] = text.substr(next);
    ++lines;
  }
  return endings;
}

}  // namespace triage::inline v0_1::detail
