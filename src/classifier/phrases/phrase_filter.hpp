// SPDX-License-Identifier: MIT
#pragma once
// Tells which of many patterns a line can match, by the words in it. Private.

#include "classifier/phrases/word_index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class FilteredRE2;
}

namespace triage::inline v0_1::detail {

// What a pattern needs to match: one word of each clause. (a|b) c (d|e) has three clauses.
struct PhraseWords {
  static constexpr std::size_t most_clauses = 8;
  using Clauses = std::uint8_t;  // One bit per clause.

  struct Word {
    std::string text{};
    Clauses clauses = 0;  // The clauses that contain it.
  };
  std::vector<Word> words{};
};

// Compiles `phrase`, which holds one pattern. Empty if a text without any of its words can match.
[[nodiscard]] std::optional<PhraseWords> words_needed(re2::FilteredRE2& phrase);

// A pattern can match a line only if each of its clauses has a word there. One pass over the line
// finds the words of all patterns. Never excludes a pattern that matches. Thread-safety: immutable
// after finish().
class PhraseFilter {
 public:
  static constexpr std::size_t most_phrases = 256;

  // Adds a phrase under the next number; at most most_phrases.
  void add(PhraseWords phrase);
  // Call once, after all phrases are added. False if their words do not fit.
  [[nodiscard]] bool finish();

  // Calls visit(number) for each phrase that may match `line`, in numerical order.
  template <class Visit>
  void for_each_candidate(std::string_view line, Visit visit) const {
    Met met{};
    if (!meet_words(line, met)) return;
    // Most phrases have no word in the line; eight of those are passed over at a time.
    for (std::size_t first = 0; first < wanted_.size(); first += sizeof(std::uint64_t)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, met.data() + first, sizeof eight);
      if (eight == 0) continue;
      const std::size_t end = std::min(first + sizeof eight, wanted_.size());
      for (std::size_t phrase = first; phrase < end; ++phrase) {
        if (met[phrase] == wanted_[phrase]) visit(phrase);
      }
    }
  }

 private:
  using Clauses = PhraseWords::Clauses;
  using Met = std::array<Clauses, most_phrases>;  // By phrase: the clauses with a word in the line.

  struct Use {
    std::uint8_t phrase = 0;
    Clauses clauses = 0;
  };

  // False if none of the words is in the line.
  bool meet_words(std::string_view line, Met& met) const;

  std::vector<PhraseWords> added_{};  // Until finish().
  WordIndex index_{};
  std::vector<Use> uses_{};                 // By word.
  std::vector<std::uint32_t> first_use_{};  // By word.
  std::vector<Clauses> wanted_{};           // By phrase: all of its clauses.
};

}  // namespace triage::inline v0_1::detail
