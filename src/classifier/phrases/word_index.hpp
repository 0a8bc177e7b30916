// SPDX-License-Identifier: MIT
#pragma once
// Finds which of many words occur in a short text; cheap to construct (0.01 ms). Private.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

static_assert(std::endian::native == std::endian::little, "words are read as numbers");

// Indexes words by their first four bytes, of which most places in a text have others; the few
// words of three bytes by those. Upper-case ASCII letters of the text match lower-case ones. An
// automaton (WordFinder) looks at each byte once, but takes a hundred times as long to build, and a
// megabyte for some thousand words. Thread-safety: immutable after construction.
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
    // Copies in locals: the compiler would reload members from memory for every byte.
    const std::uint64_t* const begins = begins_.data();
    const char* const bytes = text.data();
    const std::size_t last = text.size() - least_bytes;
    std::uint32_t four = 0;
    for (std::size_t at = 0; at < last; ++at) {
      std::memcpy(&four, bytes + at, sizeof four);
      const std::uint32_t begin = begin_of(four);
      if ((begins[begin / 64] >> (begin % 64) & 1U) == 0) continue;
      visit_slot(slots_[begin >> (begin_bits - slot_bits)], text, at, visit);
      visit_slot(short_slots_[short_slot_of(four)], text, at, visit);
    }
    std::memcpy(&four, bytes + last, least_bytes);
    visit_slot(short_slots_[short_slot_of(four)], text, last, visit);
  }

 private:
  static constexpr unsigned begin_bits = 17;
  static constexpr unsigned slot_bits = 13;
  static constexpr unsigned short_slot_bits = 8;

  struct Slot {
    std::uint16_t begin = 0;  // In entries_.
    std::uint16_t end = 0;
  };
  struct Entry {
    std::uint64_t begin = 0;  // The word's first eight bytes, or all of it and zeros …
    std::uint64_t mask = 0;   // … which this masks out.
    std::uint16_t word = 0;
  };

  template <class Visit>
  void visit_slot(const Slot& slot, std::string_view text, std::size_t at, Visit& visit) const {
    if (slot.begin == slot.end) return;
    const std::uint64_t eight = eight_at(text, at);
    for (std::size_t i = slot.begin; i < slot.end; ++i) {
      const Entry& entry = entries_[i];
      if (((eight ^ entry.begin) & entry.mask) != 0) continue;
      if (rest_stands_at(words_[entry.word], text, at)) visit(std::size_t{entry.word});
    }
  }

  // The number of four bytes in begins_. Takes capitals for small letters, and some marks for
  // others.
  [[nodiscard]] static std::uint32_t begin_of(std::uint32_t four) noexcept {
    return (four | 0x20202020U) * 2654435761U >> (32 - begin_bits);
  }
  // The same of the first three of them.
  [[nodiscard]] static std::uint32_t short_slot_of(std::uint32_t four) noexcept {
    return ((four | 0x20202020U) & 0xFFFFFFU) * 2654435761U >> (32 - short_slot_bits);
  }
  [[nodiscard]] Slot& slot_of(const std::string& word) noexcept;
  void note_begin(const std::string& word);

  [[nodiscard]] static std::uint32_t byte(std::string_view text, std::size_t at) noexcept {
    return lower_case[static_cast<unsigned char>(text[at])];
  }
  // In lower case, padded with zeros.
  [[nodiscard]] static std::uint64_t eight_at(std::string_view text, std::size_t at) noexcept;
  // Whether the text continues with the rest of the word after its first eight bytes.
  [[nodiscard]] static bool rest_stands_at(const std::string& word, std::string_view text,
                                           std::size_t at) noexcept;

  static const std::array<unsigned char, 256> lower_case;

  std::vector<std::string> words_{};
  // A bit for each four bytes that a word may begin with: most places in a text are ruled out here.
  std::vector<std::uint64_t> begins_{};
  std::vector<Slot> slots_{};        // Of the words of four bytes or more …
  std::vector<Slot> short_slots_{};  // … and of the others.
  std::vector<Entry> entries_{};     // By slot.
};

}  // namespace triage::inline v0_1::detail
