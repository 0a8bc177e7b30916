// SPDX-License-Identifier: MIT
#pragma once
// Says whether one of a few fixed marks occurs in a text, in one pass. Private.

#include <array>
#include <cstddef>
#include <string_view>

namespace triage::inline v0_1::detail {

// Looks at the last two bytes of the shortest mark that could begin at a place: mostly they are in
// none of the marks, and no mark begins at or before them. Elsewhere the first two bytes are looked
// up, and then the marks are compared one by one. Case-sensitive. Marks have at least two bytes.
// Immutable, built at compile time. Source: S. Wu, U. Manber, "A fast algorithm for multi-pattern
// searching", TR-94-17, University of Arizona, 1994.
template <std::size_t Count>
class MarkFinder {
 public:
  explicit constexpr MarkFinder(const std::array<std::string_view, Count>& marks) : marks_(marks) {
    for (const std::string_view mark : marks_) least_ = mark.size() < least_ ? mark.size() : least_;
    for (const std::string_view mark : marks_) {
      begins_[slot_of(mark[0], mark[1])] = true;
      for (std::size_t i = 0; i + 2 <= least_; ++i) pairs_[slot_of(mark[i], mark[i + 1])] = true;
    }
  }

  // O(text.size() * Count) at worst.
  [[nodiscard]] constexpr bool any_in(std::string_view text) const noexcept {
    std::size_t at = 0;
    while (at + least_ <= text.size()) {
      if (!pairs_[slot_of(text[at + least_ - 2], text[at + least_ - 1])]) {
        at += least_ - 1;
        continue;
      }
      if (begins_[slot_of(text[at], text[at + 1])] && any_at(text.substr(at))) return true;
      ++at;
    }
    return false;
  }

 private:
  static constexpr std::size_t slots = 4096;

  static constexpr std::size_t slot_of(char first, char second) noexcept {
    const auto a = static_cast<unsigned char>(first);
    const auto b = static_cast<unsigned char>(second);
    return (std::size_t{a} << 4U ^ b) % slots;
  }
  [[nodiscard]] constexpr bool any_at(std::string_view rest) const noexcept {
    for (const std::string_view mark : marks_) {
      if (mark[0] == rest[0] && mark[1] == rest[1] && rest.starts_with(mark)) return true;
    }
    return false;
  }

  std::array<std::string_view, Count> marks_;
  std::size_t least_ = static_cast<std::size_t>(-1);  // Bytes of the shortest.
  std::array<bool, slots> begins_{};                  // The first two bytes of a mark.
  std::array<bool, slots> pairs_{};  // Any two neighbours among its first `least_` bytes.
};

}  // namespace triage::inline v0_1::detail
