// SPDX-License-Identifier: MIT
#pragma once
// Finds which of many words occur in a text, in one pass. Private.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// An automaton over bytes; upper-case ASCII letters count as their lower-case ones.
// Source: A. Aho, M. Corasick, "Efficient string matching", CACM 18(6), 1975.
// Thread-safety: immutable after construction.
class WordFinder {
 public:
  WordFinder() = default;
  // Words in lower case, at most 65,000 bytes in all. Empty words are never found.
  explicit WordFinder(const std::vector<std::string>& words);

  // Scans one byte. Start with state 0; a state with found() set has words that end here.
  [[nodiscard]] std::uint16_t next(std::uint16_t state, char byte) const noexcept {
    const std::uint16_t column = columns_[static_cast<unsigned char>(byte)];
    return table_[static_cast<std::size_t>(state) * width_ + column];
  }
  [[nodiscard]] bool found(std::uint16_t state) const noexcept { return state >= first_found_; }
  // Indexes of the words that end in a found() state, suffixes included.
  [[nodiscard]] const std::vector<int>& words(std::uint16_t state) const noexcept {
    return words_[state - first_found_];
  }

 private:
  std::array<std::uint16_t, 256> columns_{};  // Bytes that no word contains share column 0.
  std::size_t width_ = 1;
  std::uint16_t first_found_ = 1;  // States are numbered so that those with words come last.
  std::vector<std::uint16_t> table_{0};
  std::vector<std::vector<int>> words_{};
};

}  // namespace triage::inline v0_1::detail
