// SPDX-License-Identifier: MIT
#pragma once
// Splits a failure's text into words, masking names, numbers and places. Private.

#include "classifier/text/lexicon.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

enum class TokenKind : std::uint8_t {
  word,    // One word in lower case; CamelCase and snake_case names are split.
  inner,   // The same, inside a quoted name.
  number,  // Masked, apart from status codes and the like.
  name,    // A quoted name as a whole.
  place,   // A URL, a path.
  mark,    // A duration, a size, "3 of 7", a stack frame, a line's end …
};

struct Token {
  std::uint32_t hash = 0;
  std::uint32_t prefix = 0;  // Hash of a word's first four bytes; 0 for shorter words.
  std::uint32_t suffix = 0;  // Hash of a word's last three bytes; 0 for shorter words.
  TokenKind kind = TokenKind::word;
  Concept meaning = 0;
};

// Appends the tokens of one line (without its end). Any bytes. Linear in the line's length.
void tokenize_line(std::string_view line, const Lexicon& lexicon, std::vector<Token>& tokens);

// The hash of a mark, such as mark_hash("<n>").
[[nodiscard]] constexpr std::uint32_t mark_hash(std::string_view mark) noexcept {
  std::uint32_t hash = hash_seed;
  for (const char c : mark) hash = hash_byte(hash, static_cast<unsigned char>(c));
  return hash;
}
inline constexpr std::uint32_t sentence_end_mark = mark_hash("<.>");

}  // namespace triage::inline v0_1::detail
