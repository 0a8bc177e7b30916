// SPDX-License-Identifier: MIT
#include "classifier/phrases/phrase_filter.hpp"

#include <re2/filtered_re2.h>

#include <algorithm>

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

void PhraseFilter::add(const PhraseWords& phrase) {
  const std::size_t number = partners_.size();
  Partners& partners = partners_.emplace_back();
  for (std::size_t place = 0; place < phrase.words.size(); ++place) {
    const PhraseWords::Word& word = phrase.words[place];
    Seen& seen = seen_[word.text];
    const bool known = place < most_places;
    seen.places.emplace_back(number, known ? static_cast<std::uint8_t>(place) : not_known);
    seen.use.helps[number / 64] |= bit(number);
    if (word.alone) seen.use.suffices[number / 64] |= bit(number);
    if (known) partners[place] = word.enough_with | (word.alone ? bit(place) : 0);
  }
}

bool PhraseFilter::finish() {
  std::vector<std::string> words;
  std::size_t bytes = 0;
  for (const auto& [word, seen] : seen_) {
    bytes += word.size();
    words.push_back(word);
    uses_.push_back(seen.use);
    places_.resize(places_.size() + partners_.size(), no_word);
    for (const auto& [phrase, place] : seen.places) {
      places_[places_.size() - partners_.size() + phrase] = place;
    }
  }
  seen_.clear();
  if (bytes > WordFinder::most_bytes) return false;
  finder_ = WordFinder(words);
  return true;
}

void PhraseFilter::find_words(std::string_view line, std::vector<std::size_t>& words) const {
  words.clear();
  WordFinder::State state = 0;
  for (std::size_t at = 0; at < line.size();) {
    at = finder_.scan(line, at, state);
    if (!finder_.found(state)) break;
    for (const int found : finder_.words(state)) {
      const auto word = static_cast<std::size_t>(found);
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
}

PhraseFilter::Phrases PhraseFilter::candidates_of(const std::vector<std::size_t>& words) const {
  Phrases once{};
  Phrases candidates{};
  for (const std::size_t word : words) {
    const WordUse& use = uses_[word];
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      candidates[i] |= use.suffices[i] | (once[i] & use.helps[i]);
      once[i] |= use.helps[i];
    }
  }
  return candidates;
}

bool PhraseFilter::enough(std::size_t phrase, const std::vector<std::size_t>& words) const {
  std::uint64_t present = 0;
  std::uint64_t wanted = 0;
  for (const std::size_t word : words) {
    const std::uint8_t place = places_[word * partners_.size() + phrase];
    if (place == no_word) continue;
    if (place == not_known) return true;
    present |= bit(place);
    wanted |= partners_[phrase][place];
  }
  return (present & wanted) != 0 || std::popcount(present) > 2;
}

}  // namespace triage::inline v0_1::detail
