// SPDX-License-Identifier: MIT
#include "classifier/phrases/phrase_filter.hpp"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
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

bool PhraseFilter::finish() {
  std::size_t all = 0;
  for (const PhraseWords& phrase : added_) all += phrase.words.size();
  std::unordered_map<std::string_view, std::size_t> numbers;
  numbers.reserve(all);
  std::vector<std::pair<std::size_t, Use>> uses;  // With the word's number.
  uses.reserve(all);
  wanted_.assign(added_.size(), 0);
  for (std::size_t phrase = 0; phrase < added_.size(); ++phrase) {
    for (const PhraseWords::Word& word : added_[phrase].words) {
      const std::size_t number = numbers.try_emplace(word.text, numbers.size()).first->second;
      uses.emplace_back(number, Use{static_cast<std::uint8_t>(phrase), word.clauses});
      wanted_[phrase] |= word.clauses;
    }
  }
  if (numbers.size() > WordIndex::most_words) return false;
  std::vector<std::string> words(numbers.size());
  for (const auto& [word, number] : numbers) words[number] = word;
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
