// SPDX-License-Identifier: MIT
#include "classifier/text/known_names.hpp"

#include "base/ascii.hpp"
#include "classifier/text/file_kinds.hpp"

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t longest_name = 128;
constexpr std::uint32_t filter_bits = KnownNames::bytes * 8;

bool is_quote_mark(char c) { return c == '\'' || c == '"' || c == '`'; }

// Whether the byte is inside of a name: an underscore, or a dot or dash between two parts. Not the
// dots and dashes of "wait...stopped", "denied--nothing was written" and "denied.Try again".
bool joins(std::string_view line, std::size_t at) {
  const char c = line[at];
  if (c == '_') return true;
  if ((c != '.' && c != '-') || at == 0 || at + 1 >= line.size()) return false;
  const char next = line[at + 1];
  return (is_alnum(line[at - 1]) || line[at - 1] == '_') && (is_alnum(next) || next == '_') &&
         !(c == '.' && is_upper(next));
}

// An identifier beside one of these is part of a path, an address or a word in another script.
bool is_of_more(char c) {
  return c == '/' || c == '\\' || c == '@' || c == '$' || c == '%' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Calls visit(hash) for each word.
template <class Visit>
void for_each_word(std::string_view text, Visit visit) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_letter(text[at])) {
      ++at;
      continue;
    }
    std::uint32_t hash = hash_seed;
    const std::size_t begin = at;
    do {
      hash = hash_byte(hash, static_cast<unsigned char>(lower(text[at])));
      ++at;
      const bool hump = at < text.size() && is_upper(text[at]) &&
                        (is_lower(text[at - 1]) ||
                         (at > begin && at + 1 < text.size() && is_lower(text[at + 1])));
      if (hump) break;
    } while (at < text.size() && is_letter(text[at]));
    visit(hash);
  }
}

// Calls visit(pair) for each two neighbours.
template <class Visit>
void for_each_pair(std::string_view text, Visit visit) {
  std::uint32_t before = 0;
  for_each_word(text, [&](std::uint32_t word) {
    if (before != 0) visit((before * 0x9E3779B1U) ^ word);
    before = word;
  });
}

// Has the form of an identifier, and lower case in it: snake_case, camelCase, dotted; with dashes
// only in quotes, since dashes also join ordinary words.
bool is_identifier(std::string_view word, bool quoted) {
  bool has_form = false;
  bool has_lower = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    has_lower = has_lower || is_lower(word[i]);
    if (i == 0) continue;
    const bool dotted = word[i] == '.' && is_letter(word[i - 1]);
    const bool dashed = word[i] == '-' && is_letter(word[i - 1]) && quoted;
    has_form = has_form || word[i] == '_' || dotted || dashed ||
               (is_upper(word[i]) && is_lower(word[i - 1]));
  }
  return has_form && has_lower && word.size() <= longest_name;
}

// A type that says by its end that it is one of exceptions.
bool is_failure_type(std::string_view word) {
  constexpr std::array<std::string_view, 9> ends{"Error",   "Exception", "Warning",
                                                 "Failure", "Fault",     "Exceeded",
                                                 "Timeout", "NotFound",  "Failed"};
  return is_upper(word.front()) && std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
           return word.ends_with(end);
         });
}

bool is_file(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  if (dot == std::string_view::npos || word.size() - dot - 1 > longest_extension) return false;
  std::string extension(word.substr(dot + 1));
  std::transform(extension.begin(), extension.end(), extension.begin(), lower);
  return file_kind_mark(extension) != 0;
}

// Calls visit(place) for each identifier.
template <class Visit>
void for_each_identifier(std::string_view line, Visit visit) {
  for (std::size_t at = 0; at < line.size();) {
    if (!is_alnum(line[at]) && line[at] != '_') {
      ++at;
      continue;
    }
    NamePlace place{.begin = at};
    while (at < line.size() && (is_alnum(line[at]) || joins(line, at))) ++at;
    place.end = at;
    const char before = place.begin > 0 ? line[place.begin - 1] : ' ';
    const char after = at < line.size() ? line[at] : ' ';
    if (is_of_more(before) || is_of_more(after)) continue;
    const bool quoted = is_quote_mark(before) && is_quote_mark(after);
    // The type in "acme.errors.Forbidden" is one of exceptions, whatever its name.
    const bool type = before == '.' && is_upper(line[place.begin]);
    if (!type && is_identifier(line.substr(place.begin, place.end - place.begin), quoted))
      visit(place);
  }
}

// The bits of a filter that a pair sets.
std::array<std::uint32_t, 2> bits_of(WordsPair pair) {
  return {pair % filter_bits, (pair * 0x85EBCA77U >> 7U) % filter_bits};
}

std::uint32_t without_sign(char byte) { return static_cast<unsigned char>(byte); }

std::size_t words_in(std::string_view text) {
  std::size_t words = 0;
  for_each_word(text, [&](std::uint32_t) { ++words; });
  return words;
}

// A letter of any script.
bool is_of_word(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }

// More words than names have, but for the paths of modules.
bool is_sentence(std::string_view name) {
  constexpr std::size_t least_words = 6;
  return name.find('.') == std::string_view::npos && words_in(name) >= least_words;
}

// An identifier of several words that stands alone is what the line says: "tool_call_hit_deadline".
bool is_message(std::string_view line, NamePlace place) {
  constexpr std::size_t least_words = 4;
  constexpr std::size_t most_others = 2;
  const std::string_view name = line.substr(place.begin, place.end - place.begin);
  if (name.find('.') != std::string_view::npos || words_in(name) < least_words) return false;
  std::size_t others = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (at == place.begin) at = place.end;
    if (at < line.size() && is_of_word(line[at]) && (at == 0 || !is_of_word(line[at - 1])))
      ++others;
  }
  return others <= most_others;
}

// A key stands before "=", or in quotes before a colon.
bool is_key(std::string_view after) {
  if (after.starts_with('=')) return true;
  if (after.empty() || !is_quote_mark(after.front())) return false;
  after.remove_prefix(1);
  return after.starts_with(':') || after.starts_with(" :");
}

}  // namespace

std::vector<WordsPair> word_pairs_of(std::string_view text) {
  std::vector<WordsPair> pairs;
  for_each_pair(text, [&](WordsPair pair) { pairs.push_back(pair); });
  return pairs;
}

std::vector<WordsPair> name_pairs_of(std::string_view text) {
  std::vector<WordsPair> pairs;
  for_each_identifier(text, [&](NamePlace place) {
    for_each_pair(text.substr(place.begin, place.end - place.begin),
                  [&](WordsPair pair) { pairs.push_back(pair); });
  });
  return pairs;
}

bool KnownNames::knows(WordsPair pair) const noexcept {
  if (filter_.empty()) return true;
  const auto bits = bits_of(pair);
  return std::all_of(bits.begin(), bits.end(), [&](std::uint32_t bit) {
    return (without_sign(filter_[bit / 8]) >> (bit % 8) & 1U) != 0;
  });
}

void KnownNames::add(WordsPair pair, std::string& filter) {
  for (const std::uint32_t bit : bits_of(pair)) {
    char& byte = filter.at(bit / 8);
    byte = static_cast<char>(without_sign(byte) | 1U << (bit % 8));
  }
}

void add_unknown_names(std::string_view line, const KnownNames& known,
                       std::vector<NamePlace>& places) {
  if (line.size() > longest_line_with_names) return;
  std::vector<NamePlace> unknown;
  std::size_t next = 0;  // The first place that does not end before the identifier.
  for_each_identifier(line, [&](NamePlace place) {
    while (next < places.size() && places[next].end <= place.begin) ++next;
    if (next < places.size() && places[next].begin < place.end) return;
    const std::string_view name = line.substr(place.begin, place.end - place.begin);
    if (is_key(line.substr(place.end))) return;
    if (is_failure_type(name) || is_file(name) || is_sentence(name)) return;
    bool all_known = true;
    for_each_pair(name, [&](WordsPair pair) { all_known = all_known && known.knows(pair); });
    if (!all_known) unknown.push_back(place);
  });
  if (unknown.empty()) return;
  if (unknown.size() == 1 && is_message(line, unknown.front())) return;
  const auto middle = places.insert(places.end(), unknown.begin(), unknown.end());
  std::inplace_merge(places.begin(), middle, places.end(),
                     [](const NamePlace& a, const NamePlace& b) { return a.begin < b.begin; });
}

}  // namespace triage::inline v0_1::detail
