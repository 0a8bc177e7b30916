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

// An automaton over bytes; upper-case ASCII letters match lower-case ones.
// Source: A. Aho, M. Corasick, "Efficient string matching", CACM 18(6), 1975.
// Thread-safety: immutable after construction.
class WordFinder {
 public:
  WordFinder() = default;
  using State = std::uint32_t;

  static constexpr std::size_t most_bytes = 65'000;  // All words together.

  // Words must be in lower case. Empty words are never found.
  explicit WordFinder(const std::vector<std::string>& words);

  // Scans `text` from `at` until a word ends, and returns the position after that byte, or
  // text.size() with found(state) false if none does. Start with state 0.
  [[nodiscard]] std::size_t scan(std::string_view text, std::size_t at,
                                 State& state) const noexcept;
  [[nodiscard]] bool found(State state) const noexcept { return state >= first_found_; }
  // Indexes of the words that end in a found() state, suffixes included.
  [[nodiscard]] const std::vector<int>& words(State state) const noexcept {
    return words_[state - first_found_];
  }

 private:
  std::array<std::uint16_t, 256> columns_{};  // Bytes in no word share column 0.
  unsigned width_bits_ = 0;                   // Of a row of the table.
  State first_found_ = 1;  // States are numbered so that those with words come last.
  std::vector<std::uint16_t> table_{0};
  std::vector<std::vector<int>> words_{};
};

}  // namespace triage::inline v0_1::detail
