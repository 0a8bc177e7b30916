// SPDX-License-Identifier: MIT
#pragma once
// What the text model sees of a failure's text: hashed features of its words and their meaning.
// Private.

#include "classifier/text/names.hpp"
#include "classifier/text/tokens.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Features of one group are regularised and scaled alike.
enum class FeatureGroup : std::uint8_t {
  word,            // One word.
  word_pair,       // Two neighbours.
  affix,           // The beginning or the end of a word.
  meaning,         // One concept.
  meaning_pair,    // Two concepts near each other, in order.
  meaning_triple,  // Three in a row.
  phrase_pair,     // Two neighbours, words of known meaning replaced by their concept.
  phrase_triple,   // Three.
  code,            // A code that was reported beside the text.
};
inline constexpr std::size_t feature_group_count = 9;
// Grows with every change of what a text's features are: models of another version do not fit.
inline constexpr std::uint32_t feature_version = 3;

// What a text is about: one that names source files or lines of a stack trace speaks of a program.
// There the same words are less sure signs: an interpreter says of a bug what a parser says of its
// input.
enum class TextKind : std::uint8_t { message, program };
inline constexpr std::size_t text_kind_count = 2;

struct Feature {
  std::uint32_t hash = 0;
  FeatureGroup group = FeatureGroup::word;
};

// Reused from call to call, so that nothing is allocated after the first ones.
struct FeatureBuffer {
  static constexpr std::uint32_t seen_bits = 1U << 17U;

  std::vector<Feature> features{};  // Each at most once.
  TextKind kind = TextKind::message;
  std::vector<Token> tokens{};
  std::vector<NamePlace> names{};
  std::vector<std::uint64_t> seen = std::vector<std::uint64_t>(seen_bits / 64, 0);

  void clear() noexcept;
  void add(FeatureGroup group, std::uint32_t hash);
};

// Adds the features of a text: any bytes, any length; of long ones the first and last window.
void extract_features(std::string_view text, const Lexicon& lexicon, FeatureBuffer& buffer);
// The same for the name of an exception's type.
void extract_type_features(std::string_view type_name, const Lexicon& lexicon,
                           FeatureBuffer& buffer);
// Where the texts speak of a program, their concepts count once more, as what they mean there.
// Source: H. Daumé III, "Frustratingly easy domain adaptation", ACL 2007.
void add_program_features(FeatureBuffer& buffer);
// Adds the features of a code. `kind` is one of "http", "rpc", "grpc".
void extract_code_features(std::string_view kind, int code, FeatureBuffer& buffer);

}  // namespace triage::inline v0_1::detail
