// SPDX-License-Identifier: MIT
#include "classifier/text/lexicon.hpp"

#include "triage/record.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {

extern const std::string_view lexicon_text;  // data/lexicon.tsv; made by cmake/EmbedText.cmake.

namespace {

constexpr std::size_t most_concepts = 255;

std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

// "word" or "prefix*".
Result<void> Lexicon::add(std::string_view entry, Concept meaning, Table& table) {
  if (++table.size > slots / 2) return Error{Errc::invalid_argument, "too many words"};
  std::uint32_t hash = hash_seed;
  for (const char byte : entry) hash = hash_byte(hash, static_cast<unsigned char>(byte));
  const std::uint32_t low = (hash ^ (hash >> 16U)) & 0xFFFFU;
  table.filter[low / 64] |= std::uint64_t{1} << (low % 64);
  std::uint32_t slot = hash & (slots - 1);
  while (table.concepts[slot] != 0) {
    if (table.hashes[slot] == hash) {
      return Error{Errc::invalid_argument, "\"" + std::string(entry) + "\" is there twice"};
    }
    slot = (slot + 1) & (slots - 1);
  }
  table.hashes[slot] = hash;
  table.concepts[slot] = meaning;
  return outcome::success();
}

Result<Lexicon> Lexicon::parse(std::string_view table) {
  Lexicon lexicon;
  for (std::size_t number = 1; !table.empty(); ++number) {
    std::string_view line = take_until(table, '\n');
    if (line.empty() || line.front() == '#') continue;
    const std::string name(take_until(line, '\t'));
    const auto known = std::find(lexicon.concepts_.begin(), lexicon.concepts_.end(), name);
    const auto meaning = static_cast<std::size_t>(known - lexicon.concepts_.begin());
    if (known == lexicon.concepts_.end()) lexicon.concepts_.push_back(name);
    const std::string where = "lexicon, line " + std::to_string(number) + ": ";
    if (name.empty() || meaning > most_concepts) {
      return Error{Errc::invalid_argument, where + "no name, or too many concepts"};
    }
    while (!line.empty()) {
      std::string_view entry = take_until(line, ' ');
      if (entry.empty()) continue;
      const bool prefix = entry.back() == '*';
      if (prefix) entry.remove_suffix(1);
      const auto added =
          add(entry, static_cast<Concept>(meaning), prefix ? lexicon.prefixes_ : lexicon.words_);
      if (!added) return Error{Errc::invalid_argument, where + added.error().detail};
    }
  }
  return outcome::success(std::move(lexicon));
}

std::string_view built_in_lexicon_table() noexcept { return lexicon_text; }

std::uint32_t built_in_lexicon_checksum() noexcept { return crc32c(lexicon_text); }

const Lexicon& built_in_lexicon() {
  static const Lexicon lexicon = Lexicon::parse(lexicon_text).value();
  return lexicon;
}

}  // namespace triage::inline v0_1::detail
