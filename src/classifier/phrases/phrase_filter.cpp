// SPDX-License-Identifier: MIT
#include "classifier/phrases/phrase_filter.hpp"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << place % 64; }

bool can_match_with(const re2::FilteredRE2& phrase, const std::vector<int>& words) {
  std::vector<int> potentials;
  phrase.AllPotentials(words, &potentials);
  return !potentials.empty();
}

}  // namespace

std::optional<PhraseWords> words_needed(re2::FilteredRE2& phrase) {
  std::vector<std::string> needed;
  phrase.Compile(&needed);
  if (needed.empty() || can_match_with(phrase, {})) return std::nullopt;
  PhraseWords result;
  for (std::size_t word = 0; word < needed.size(); ++word) {
    const int number = static_cast<int>(word);
    PhraseWords::Word& entry = result.words.emplace_back();
    entry.text = std::move(needed[word]);
    entry.alone = can_match_with(phrase, {number});
    if (entry.alone || word >= PhraseWords::most_paired) continue;
    for (std::size_t other = 0; other < word; ++other) {
      if (can_match_with(phrase, {static_cast<int>(other), number}))
        entry.enough_with |= bit(other);
    }
  }
  return result;
}

void PhraseFilter::add(PhraseWords phrase) { added_.push_back(std::move(phrase)); }

bool PhraseFilter::finish() {
  std::size_t all = 0;
  for (const PhraseWords& phrase : added_) all += phrase.words.size();
  std::unordered_map<std::string_view, std::size_t> numbers;
  numbers.reserve(all);
  std::vector<Use> uses;
  uses.reserve(all);
  partners_.resize(added_.size());
  for (std::size_t phrase = 0; phrase < added_.size(); ++phrase) {
    for (std::size_t place = 0; place < added_[phrase].words.size(); ++place) {
      const PhraseWords::Word& word = added_[phrase].words[place];
      const bool known = place < most_places;
      const std::size_t number = numbers.try_emplace(word.text, numbers.size()).first->second;
      uses.push_back({.word = static_cast<std::uint16_t>(number),
                      .phrase = static_cast<std::uint8_t>(phrase),
                      .place = known ? static_cast<std::uint8_t>(place) : not_known,
                      .alone = word.alone});
      if (known) partners_[phrase][place] = word.enough_with | (word.alone ? bit(place) : 0);
    }
  }
  if (numbers.size() > WordIndex::most_words) return false;
  std::vector<std::string> words(numbers.size());
  for (const auto& [word, number] : numbers) words[number] = word;
  added_.clear();

  first_use_.assign(words.size() + 1, 0);
  for (const Use& use : uses) ++first_use_[use.word + std::size_t{1}];
  std::partial_sum(first_use_.begin(), first_use_.end(), first_use_.begin());
  std::vector<std::uint32_t> next(first_use_);
  uses_.resize(uses.size());
  for (const Use& use : uses) uses_[next[use.word]++] = use;
  index_ = WordIndex(std::move(words));
  return true;
}

void PhraseFilter::find_words(std::string_view line, std::vector<std::size_t>& words) const {
  words.clear();
  index_.for_each_in(line, [&](std::size_t word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  });
}

PhraseFilter::Phrases PhraseFilter::candidates_of(const std::vector<std::size_t>& words) const {
  Phrases once{};
  Phrases candidates{};
  for (const std::size_t word : words) {
    for_each_use(word, [&](const Use& use) {
      std::uint64_t& seen = once[use.phrase / 64];
      if (use.alone || (seen & bit(use.phrase)) != 0)
        candidates[use.phrase / 64] |= bit(use.phrase);
      seen |= bit(use.phrase);
    });
  }
  return candidates;
}

bool PhraseFilter::enough(std::size_t phrase, const std::vector<std::size_t>& words) const {
  std::uint64_t present = 0;
  std::uint64_t wanted = 0;
  bool maybe = false;
  for (const std::size_t word : words) {
    for_each_use(word, [&](const Use& use) {
      if (use.phrase != phrase) return;
      if (use.place == not_known) {
        maybe = true;
      } else {
        present |= bit(use.place);
        wanted |= partners_[phrase][use.place];
      }
    });
  }
  return maybe || (present & wanted) != 0 || std::popcount(present) > 2;
}

}  // namespace triage::inline v0_1::detail
