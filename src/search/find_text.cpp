// SPDX-License-Identifier: MIT
#include "search/find_text.hpp"

#include "base/ascii.hpp"

#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_looked_for = 4U << 10U;
constexpr std::size_t window_bytes = 64U << 10U;

}  // namespace

TextFinder::TextFinder(std::string_view part, Case letters)
    : part_(part), ignores_case_(letters == Case::ignored), border_(part.size(), 0) {
  std::uint32_t border = 0;
  for (std::size_t i = 1; i < part_.size(); ++i) {
    while (border > 0 && !same(part_[i], part_[border])) border = border_[border - 1];
    if (same(part_[i], part_[border])) ++border;
    border_[i] = border;
  }
}

bool TextFinder::same(char a, char b) const noexcept {
  return ignores_case_ ? lower(a) == lower(b) : a == b;
}

bool TextFinder::is_in(std::string_view text) const noexcept {
  if (part_.empty()) return true;
  if (part_.size() > text.size()) return false;
  std::size_t matched = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (matched == 0 && !ignores_case_) {
      // Most bytes cannot start a match, and this skips many of them at a time.
      at = text.find(part_.front(), at);
      if (at == std::string_view::npos) return false;
    }
    while (matched > 0 && !same(text[at], part_[matched])) matched = border_[matched - 1];
    if (same(text[at], part_[matched])) ++matched;
    if (matched == part_.size()) return true;
  }
  return false;
}

bool tell_the_same(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return false;
  if (a.size() < b.size()) std::swap(a, b);
  const TextFinder shorter(b.substr(0, longest_looked_for));
  if (a.size() <= 2 * window_bytes) return shorter.is_in(a);
  return shorter.is_in(a.substr(0, window_bytes)) ||
         shorter.is_in(a.substr(a.size() - window_bytes));
}

}  // namespace triage::inline v0_1::detail
