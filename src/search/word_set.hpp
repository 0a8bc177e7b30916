// SPDX-License-Identifier: MIT
#pragma once
// A fixed set of words, looked up without regard to case. Private.

#include "base/ascii.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// Built at compile time from different words in lower case. A lookup costs a hash of the word and,
// mostly, one comparison at most.
template <std::size_t Count>
class WordSet {
 public:
  static constexpr std::size_t none = Count;

  explicit constexpr WordSet(const std::array<std::string_view, Count>& words) : words_(words) {
    for (std::size_t word = 0; word < Count; ++word) {
      if (words_[word].size() > longest_) longest_ = words_[word].size();
      std::size_t slot = slot_of(words_[word]);
      while (numbers_[slot] != 0) slot = (slot + 1) % slots;
      numbers_[slot] = static_cast<std::uint16_t>(word + 1);
    }
  }

  // The word's number, in the order given; `none` if it is not in the set.
  [[nodiscard]] constexpr std::size_t find(std::string_view word) const noexcept {
    if (word.size() > longest_) return none;
    for (std::size_t slot = slot_of(word); numbers_[slot] != 0; slot = (slot + 1) % slots) {
      const std::size_t number = numbers_[slot] - std::size_t{1};
      if (equal(word, words_[number])) return number;
    }
    return none;
  }
  [[nodiscard]] constexpr bool contains(std::string_view word) const noexcept {
    return find(word) != none;
  }

 private:
  static constexpr std::size_t slots = std::bit_ceil(4 * Count);  // Most are empty.

  static constexpr std::size_t slot_of(std::string_view word) noexcept {
    std::uint32_t hash = static_cast<std::uint32_t>(word.size());
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(lower(c))) * 16777619U;
    return (hash ^ hash >> 16U) % slots;
  }
  static constexpr bool equal(std::string_view word, std::string_view known) noexcept {
    if (word.size() != known.size()) return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
      if (lower(word[i]) != known[i]) return false;
    }
    return true;
  }

  std::array<std::string_view, Count> words_;
  std::array<std::uint16_t, slots> numbers_{};
  std::size_t longest_ = 0;
};

}  // namespace triage::inline v0_1::detail
