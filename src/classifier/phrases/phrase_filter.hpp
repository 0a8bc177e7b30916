// SPDX-License-Identifier: MIT
#pragma once
// Says which of many patterns a line can match, from the words in it. Private.

#include "classifier/phrases/word_index.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class FilteredRE2;
}

namespace triage::inline v0_1::detail {

// The words of a pattern, and which of them it needs.
struct PhraseWords {
  static constexpr std::size_t most_paired = 64;  // Pairs are known of the first ones.

  struct Word {
    std::string text{};
    bool alone = false;  // Enough, whatever else is there.
    std::uint64_t enough_with =
        0;  // The earlier words, a bit each, one of which is enough with it.
  };
  std::vector<Word> words{};
};

// Compiles `phrase`, which holds one pattern. Empty if some text without any word of it matches.
[[nodiscard]] std::optional<PhraseWords> words_needed(re2::FilteredRE2& phrase);

// A pattern can match a line only if words of it are there: one that is enough alone, two that are
// enough together, or more. Looking for the words of all patterns takes one pass over the line.
// Never leaves out a pattern that matches. Thread-safety: immutable after finish().
class PhraseFilter {
 public:
  static constexpr std::size_t most_phrases = 256;

  // Gives a phrase the next number; most_phrases at most.
  void add(PhraseWords phrase);
  // To be called once, when all phrases are added. False if they have more words than fit.
  [[nodiscard]] bool finish();

  // Calls visit(number) for each phrase that `line` may match, in the order of their numbers.
  // `words` is room to work in.
  template <class Visit>
  void for_each_candidate(std::string_view line, std::vector<std::size_t>& words,
                          Visit visit) const {
    find_words(line, words);
    if (words.empty()) return;
    const Phrases candidates = candidates_of(words);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      for (std::uint64_t rest = candidates[i]; rest != 0; rest &= rest - 1) {
        const std::size_t phrase = i * 64 + static_cast<std::size_t>(std::countr_zero(rest));
        if (enough(phrase, words)) visit(phrase);
      }
    }
  }

 private:
  static constexpr std::size_t most_places = PhraseWords::most_paired;
  static constexpr std::uint8_t not_known = 255;  // The word is behind the first 64 of the phrase.

  using Phrases = std::array<std::uint64_t, most_phrases / 64>;  // A bit each.
  // For each word of a phrase the words that are enough together with it; itself: enough alone.
  using Partners = std::array<std::uint64_t, most_places>;
  struct Use {
    std::uint16_t word = 0;
    std::uint8_t phrase = 0;
    std::uint8_t place = 0;  // Which of the phrase's words it is.
    bool alone = false;
  };

  void find_words(std::string_view line, std::vector<std::size_t>& words) const;
  [[nodiscard]] Phrases candidates_of(const std::vector<std::size_t>& words) const;
  [[nodiscard]] bool enough(std::size_t phrase, const std::vector<std::size_t>& words) const;
  template <class Visit>
  void for_each_use(std::size_t word, Visit visit) const {
    for (std::size_t i = first_use_[word]; i < first_use_[word + 1]; ++i) visit(uses_[i]);
  }

  std::vector<PhraseWords> added_{};  // Until all are.
  WordIndex index_{};
  std::vector<Use> uses_{};                 // By word, once all are known.
  std::vector<std::uint32_t> first_use_{};  // By word.
  std::vector<Partners> partners_{};        // By phrase.
};

}  // namespace triage::inline v0_1::detail
