// SPDX-License-Identifier: MIT
#pragma once
// What the text model sees of a failure's text: hashed features of its words and their meaning.
// Private.

#include "classifier/text/known_names.hpp"
#include "classifier/text/names.hpp"
#include "classifier/text/tokens.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The features of a group are regularised and scaled alike.
enum class FeatureGroup : std::uint8_t {
  word,            // One word.
  word_pair,       // Two neighbours.
  affix,           // The beginning or the end of a word.
  meaning,         // One concept.
  meaning_pair,    // Two concepts close to each other, in order.
  meaning_triple,  // Three in a row.
  phrase_pair,     // Two neighbours, with words of known meaning replaced by their concepts.
  phrase_triple,   // Three.
  code,            // A code reported with the text.
};
inline constexpr std::size_t feature_group_count = 9;
// Incremented when the features of texts change so much that models have to be trained again; those
// of another version are refused.
inline constexpr std::uint32_t feature_version = 4;

// A text that names source files or stack frames is about a program. There the same words are
// weaker signs: an interpreter reports a bug in the words in which a parser reports bad input.
enum class TextKind : std::uint8_t { message, program };
inline constexpr std::size_t text_kind_count = 2;

struct Feature {
  std::uint32_t hash = 0;
  FeatureGroup group = FeatureGroup::word;
};

// Reused between calls, so that allocations stop after the first few.
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

// Adds the features of a text: any bytes, any length; only the first and last window of long ones.
// Names are masked where the text says that they are names, and identifiers that are not known.
void extract_features(std::string_view text, const Lexicon& lexicon, const KnownNames& known,
                      FeatureBuffer& buffer);
// The same for an exception's type name.
void extract_type_features(std::string_view type_name, const Lexicon& lexicon,
                           FeatureBuffer& buffer);
// If the texts are about a program, adds their concepts again as program-specific features. Source:
// H. Daumé III, "Frustratingly easy domain adaptation", ACL 2007.
void add_program_features(FeatureBuffer& buffer);
// Adds the features of a code. `kind` is one of "http", "rpc", "grpc".
void extract_code_features(std::string_view kind, int code, FeatureBuffer& buffer);

}  // namespace triage::inline v0_1::detail
