// SPDX-License-Identifier: MIT
#pragma once
// Says which of many patterns a line can match, from the words in it. Private.

#include "classifier/phrases/word_index.hpp"

#include <array>
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

// What a text must have for a pattern to match: of each clause a word. (a|b) c (d|e) has three.
struct PhraseWords {
  static constexpr std::size_t most_clauses = 8;
  using Clauses = std::uint8_t;  // A bit each.

  struct Word {
    std::string text{};
    Clauses clauses = 0;  // Those that it is a word of.
  };
  std::vector<Word> words{};
};

// Compiles `phrase`, which holds one pattern. Empty if some text without any word of it matches.
[[nodiscard]] std::optional<PhraseWords> words_needed(re2::FilteredRE2& phrase);

// A pattern can match a line only if every clause of it has a word there. Looking for the words of
// all patterns takes one pass over the line. Never leaves out a pattern that matches.
// Thread-safety: immutable after finish().
class PhraseFilter {
 public:
  static constexpr std::size_t most_phrases = 256;

  // Gives a phrase the next number; most_phrases at most.
  void add(PhraseWords phrase);
  // To be called once, when all phrases are added. False if they have more words than fit.
  [[nodiscard]] bool finish();

  // Calls visit(number) for each phrase that `line` may match, in the order of their numbers.
  template <class Visit>
  void for_each_candidate(std::string_view line, Visit visit) const {
    Met met{};
    if (!meet_words(line, met)) return;
    for (std::size_t phrase = 0; phrase < wanted_.size(); ++phrase) {
      if (met[phrase] == wanted_[phrase]) visit(phrase);
    }
  }

 private:
  using Clauses = PhraseWords::Clauses;
  using Met = std::array<Clauses, most_phrases>;  // By phrase: the clauses with a word in the line.

  struct Use {
    std::uint8_t phrase = 0;
    Clauses clauses = 0;
  };

  // False if the line has none of the words.
  bool meet_words(std::string_view line, Met& met) const;

  std::vector<PhraseWords> added_{};  // Until all are.
  WordIndex index_{};
  std::vector<Use> uses_{};                 // By word, once all are known.
  std::vector<std::uint32_t> first_use_{};  // By word.
  std::vector<Clauses> wanted_{};           // By phrase: all of its clauses.
};

}  // namespace triage::inline v0_1::detail
