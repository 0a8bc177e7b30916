// SPDX-License-Identifier: MIT
#include "classifier/phrases/phrase_filter.hpp"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// Finds the clauses of the condition that RE2 derives from a pattern: a monotone condition on
// words. If no word of a clause is present, the condition is false whatever else is.
class ClauseFinder {
 public:
  ClauseFinder(const re2::FilteredRE2& phrase, std::size_t words)
      : phrase_(phrase), present_(words, true), order_(words) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  // The shortest clauses found: longer ones tell less.
  std::vector<std::vector<std::size_t>> run() {
    std::vector<bool> covered(present_.size(), false);
    std::vector<std::vector<std::size_t>> clauses;
    for (std::size_t word = 0; word < present_.size(); ++word) {
      if (covered[word]) continue;
      auto clause = clause_with(word);
      if (clause.empty()) {  // Words it does not need were left: try the reverse order.
        std::reverse(order_.begin(), order_.end());
        clause = clause_with(word);
        std::reverse(order_.begin(), order_.end());
      }
      for (const std::size_t each : clause) covered[each] = true;
      if (!clause.empty()) clauses.push_back(std::move(clause));
    }
    std::stable_sort(clauses.begin(), clauses.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (clauses.size() > PhraseWords::most_clauses) clauses.resize(PhraseWords::most_clauses);
    return clauses;
  }

 private:
  // A clause that contains `word`, one of whose words is needed; empty if none is found.
  std::vector<std::size_t> clause_with(std::size_t word) {
    // A minimal sufficient set that contains `word` …
    std::fill(present_.begin(), present_.end(), true);
    for (const std::size_t other : order_) {
      if (other == word) continue;
      present_[other] = false;
      if (!enough()) present_[other] = true;
    }
    // … and then a maximal insufficient one without it.
    present_[word] = false;
    if (enough()) return {};
    for (const std::size_t other : order_) {
      if (other == word || present_[other]) continue;
      present_[other] = true;
      if (enough()) present_[other] = false;
    }
    std::vector<std::size_t> clause;
    for (std::size_t other = 0; other < present_.size(); ++other) {
      if (!present_[other]) clause.push_back(other);
    }
    return clause;
  }

  [[nodiscard]] bool enough() const {
    std::vector<int> words;
    for (std::size_t word = 0; word < present_.size(); ++word) {
      if (present_[word]) words.push_back(static_cast<int>(word));
    }
    std::vector<int> potentials;
    phrase_.AllPotentials(words, &potentials);
    return !potentials.empty();
  }

  const re2::FilteredRE2& phrase_;
  std::vector<bool> present_;
  std::vector<std::size_t> order_;  // The order in which words are left out.
};

}  // namespace

std::optional<PhraseWords> words_needed(re2::FilteredRE2& phrase) {
  std::vector<std::string> needed;
  phrase.Compile(&needed);
  std::vector<int> potentials;
  phrase.AllPotentials({}, &potentials);
  if (needed.empty() || !potentials.empty()) return std::nullopt;
  std::vector<PhraseWords::Clauses> of_word(needed.size(), 0);
  const auto clauses = ClauseFinder(phrase, needed.size()).run();
  for (std::size_t clause = 0; clause < clauses.size(); ++clause) {
    for (const std::size_t word : clauses[clause]) {
      of_word[word] = static_cast<PhraseWords::Clauses>(of_word[word] | 1U << clause);
    }
  }
  PhraseWords result;
  for (std::size_t word = 0; word < needed.size(); ++word) {
    if (of_word[word] != 0) result.words.push_back({std::move(needed[word]), of_word[word]});
  }
  return result;
}

void PhraseFilter::add(PhraseWords phrase) { added_.push_back(std::move(phrase)); }

namespace {

// Numbers different words in the order in which they come.
class WordNumbers {
 public:
  explicit WordNumbers(std::size_t most) : slots_(std::bit_ceil(2 * most + 1), none) {
    words_.reserve(most);
  }

  std::size_t number_of(std::string&& word) {
    std::size_t slot = hash(word) & (slots_.size() - 1);
    while (slots_[slot] != none && words_[slots_[slot]] != word) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    if (slots_[slot] == none) {
      slots_[slot] = static_cast<std::uint32_t>(words_.size());
      words_.push_back(std::move(word));
    }
    return slots_[slot];
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  static constexpr auto none = static_cast<std::uint32_t>(-1);

  // Of both ends, since finish() is a part of every process's first classification.
  static std::size_t hash(std::string_view word) noexcept {
    std::uint64_t first = word.size();
    std::uint64_t last = 0;
    std::memcpy(&last, word.data() + word.size() - std::min(word.size(), sizeof last),
                std::min(word.size(), sizeof last));
    std::memcpy(&first, word.data(), std::min(word.size(), sizeof first - 1));
    return static_cast<std::size_t>((first ^ std::rotl(last, 23)) * 0x9E3779B97F4A7C15U >> 32U);
  }

  std::vector<std::string> words_{};
  std::vector<std::uint32_t> slots_;
};

}  // namespace

bool PhraseFilter::finish() {
  std::size_t all = 0;
  for (const PhraseWords& phrase : added_) all += phrase.words.size();
  WordNumbers numbers(all);
  std::vector<std::pair<std::size_t, Use>> uses;  // With the word's number.
  uses.reserve(all);
  wanted_.assign(added_.size(), 0);
  for (std::size_t phrase = 0; phrase < added_.size(); ++phrase) {
    for (PhraseWords::Word& word : added_[phrase].words) {
      wanted_[phrase] |= word.clauses;
      uses.emplace_back(numbers.number_of(std::move(word.text)),
                        Use{static_cast<std::uint8_t>(phrase), word.clauses});
    }
  }
  std::vector<std::string> words = numbers.take();
  if (words.size() > WordIndex::most_words) return false;
  added_.clear();

  first_use_.assign(words.size() + 1, 0);
  for (const auto& [word, use] : uses) ++first_use_[word + 1];
  std::partial_sum(first_use_.begin(), first_use_.end(), first_use_.begin());
  std::vector<std::uint32_t> next(first_use_);
  uses_.resize(uses.size());
  for (const auto& [word, use] : uses) uses_[next[word]++] = use;
  index_ = WordIndex(std::move(words));
  return true;
}

bool PhraseFilter::meet_words(std::string_view line, Met& met) const {
  bool any = false;
  index_.for_each_in(line, [&](std::size_t word) {
    any = true;
    for (std::size_t i = first_use_[word]; i < first_use_[word + 1]; ++i) {
      met[uses_[i].phrase] |= uses_[i].clauses;
    }
  });
  return any;
}

}  // namespace triage::inline v0_1::detail
