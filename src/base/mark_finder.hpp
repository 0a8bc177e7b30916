// SPDX-License-Identifier: MIT
#pragma once
// Says whether one of a few fixed marks occurs in a text, in one pass. Private.

#include <array>
#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail {

// Most positions in a text cannot start a mark; tables of the first byte and of the first two rule
// them out. At the rest, the marks are compared one by one. Case-sensitive. Marks have at least two
// bytes. Immutable, built at compile time.
template <std::size_t Count>
class MarkFinder {
 public:
  explicit constexpr MarkFinder(const std::array<std::string_view, Count>& marks) : marks_(marks) {
    for (const std::string_view mark : marks_) {
      first_[static_cast<unsigned char>(mark[0])] = true;
      pairs_[slot_of(mark[0], mark[1])] = true;
    }
  }

  // O(text.size() * Count) at worst.
  [[nodiscard]] constexpr bool any_in(std::string_view text) const noexcept {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      if (!first_[static_cast<unsigned char>(text[at])]) continue;
      if (pairs_[slot_of(text[at], text[at + 1])] && any_at(text.substr(at))) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t slots = 1024;

  static constexpr std::size_t slot_of(char first, char second) noexcept {
    const auto a = static_cast<unsigned char>(first);
    const auto b = static_cast<unsigned char>(second);
    return (std::size_t{a} << 3U ^ b) % slots;
  }
  [[nodiscard]] constexpr bool any_at(std::string_view rest) const noexcept {
    for (const std::string_view mark : marks_) {
      if (mark[0] == rest[0] && mark[1] == rest[1] && rest.starts_with(mark)) return true;
    }
    return false;
  }

  std::array<std::string_view, Count> marks_;
  std::array<bool, 256> first_{};
  std::array<bool, slots> pairs_{};
};

}  // namespace triage::inline v0_1::detail
