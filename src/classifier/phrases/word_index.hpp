// SPDX-License-Identifier: MIT
#pragma once
// Finds which of many words occur in a short text; cheap to construct (0.01 ms). Private.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Indexes words by their first three bytes. Where three bytes of a text begin some words and the
// fourth byte fits one, those words are compared. Upper-case ASCII letters of the text match
// lower-case ones. An automaton (WordFinder) looks at each byte once, but takes a hundred times as
// long to build, and a megabyte for some thousand words.
// Thread-safety: immutable after construction.
class WordIndex {
 public:
  static constexpr std::size_t least_bytes = 3;  // Of a word.
  static constexpr std::size_t most_words = 65'535;

  WordIndex() = default;
  // Words in lower case, at most most_words.
  explicit WordIndex(std::vector<std::string> words);

  // Calls visit(index) for each occurrence of a word.
  template <class Visit>
  void for_each_in(std::string_view text, Visit visit) const {
    if (words_.empty() || text.size() < least_bytes) return;
    const std::size_t last = text.size() - least_bytes;
    // Copies in locals: the compiler would reload members from memory for every byte.
    const Slot* const slots = slots_.data();
    const unsigned shift = slot_shift_;
    std::uint32_t three = byte(text, 0) << 8U | byte(text, 1) << 16U;
    for (std::size_t at = 0; at <= last; ++at) {
      three = three >> 8U | byte(text, at + 2) << 16U;
      const Slot& slot = slots[slot_of(three, shift)];
      if (slot.fourth == 0) continue;
      if (at < last && (slot.fourth >> (byte(text, at + 3) % 32) & 1U) == 0) continue;
      const std::uint64_t eight = eight_at(text, at);
      for (std::size_t i = slot.begin; i < slot.end; ++i) {
        const Entry& entry = entries_[i];
        if (((eight ^ entry.begin) & entry.mask) != 0) continue;
        if (rest_stands_at(words_[entry.word], text, at)) visit(std::size_t{entry.word});
      }
    }
  }

 private:
  static constexpr unsigned least_slot_bits = 11;
  static constexpr unsigned most_slot_bits = 13;

  struct Slot {
    std::uint32_t fourth = 0;  // A bit for each possible fourth byte of its words (modulo 32).
    std::uint16_t begin = 0;   // In entries_.
    std::uint16_t end = 0;
  };
  struct Entry {
    std::uint64_t begin = 0;  // The word's first eight bytes, or all of it and zeros …
    std::uint64_t mask = 0;   // … which this masks out.
    std::uint16_t word = 0;
  };

  [[nodiscard]] static std::uint32_t byte(std::string_view text, std::size_t at) noexcept {
    return lower_case[static_cast<unsigned char>(text[at])];
  }
  [[nodiscard]] static std::size_t slot_of(std::uint32_t three, unsigned shift) noexcept {
    return (three * 2654435761U) >> shift;
  }
  [[nodiscard]] std::size_t slot_of(const std::string& word) const noexcept;
  // In lower case, padded with zeros.
  [[nodiscard]] static std::uint64_t eight_at(std::string_view text, std::size_t at) noexcept;
  // Whether the text continues with the rest of the word after its first eight bytes.
  [[nodiscard]] static bool rest_stands_at(const std::string& word, std::string_view text,
                                           std::size_t at) noexcept;

  static const std::array<unsigned char, 256> lower_case;

  std::vector<std::string> words_{};
  unsigned slot_shift_ = 31;  // Leaves the bits of a slot number.
  std::vector<Slot> slots_{};
  std::vector<Entry> entries_{};  // By slot.
};

}  // namespace triage::inline v0_1::detail
