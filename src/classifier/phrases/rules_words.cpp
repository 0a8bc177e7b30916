// SPDX-License-Identifier: MIT
#include "classifier/phrases/rules_table.hpp"

#include "base/percent.hpp"
#include "triage/detail/hex.hpp"

#include <algorithm>
#include <charconv>

namespace triage::inline v0_1::detail {
namespace {

// Spaces, tabs and unprintable bytes as %XX.
std::string spelt(std::string_view word) {
  std::string text;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && c != '%') {
      text += c;
    } else {
      text += '%';
      append_hex(c, text);
    }
  }
  return text;
}

template <class Number>
bool read_hex(std::string_view text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

std::string_view take_until(std::string_view& rest, char end) {
  const std::size_t at = std::min(rest.find(end), rest.size());
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return part;
}

// "5:word" is a word of the first and the third clause.
bool read_word(std::string_view field, PhraseWords::Word& word) {
  unsigned clauses = 0;
  std::size_t at = 0;
  for (; at < field.size() && field[at] != ':'; ++at) {
    const std::size_t digit = hex_digits.find(field[at]);
    if (digit == std::string_view::npos || clauses > 0xF) return false;
    clauses = clauses << 4U | static_cast<unsigned>(digit);
  }
  word.clauses = static_cast<PhraseWords::Clauses>(clauses);
  auto text = percent_decoded(field.substr(std::min(at + 1, field.size())), Malformed::refuse);
  if (text) word.text = *std::move(text);
  return clauses != 0 && !word.text.empty();
}

}  // namespace

std::string show_words(const WrittenWords& written) {
  char buffer[20];
  const auto hex = [&](auto number) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, 16);
    return std::string(buffer, end.ptr);
  };
  std::string line = written.id + '\t' + hex(written.checksum);
  for (const PhraseWords::Word& word : written.words.words) {
    line += '\t' + hex(word.clauses) + ':' + spelt(word.text);
  }
  return line;
}

Result<std::vector<WrittenWords>> read_words(std::string_view lines) {
  std::vector<WrittenWords> all;
  for (std::size_t number = 1; !lines.empty(); ++number) {
    std::string_view line = take_until(lines, '\n');
    if (line.empty() || line.front() == '#') continue;
    WrittenWords& written = all.emplace_back();
    written.id = take_until(line, '\t');
    bool good = read_hex(take_until(line, '\t'), written.checksum);
    const auto words = std::count(line.begin(), line.end(), '\t') + 1;
    written.words.words.reserve(static_cast<std::size_t>(words));
    while (good && !line.empty()) {
      good = read_word(take_until(line, '\t'), written.words.words.emplace_back());
    }
    if (!good || written.words.words.empty()) {
      return Error{Errc::invalid_argument, "rules_words.tsv, line " + std::to_string(number)};
    }
  }
  return outcome::success(std::move(all));
}

}  // namespace triage::inline v0_1::detail
