// SPDX-License-Identifier: MIT
#include "classifier/text/features.hpp"

#include "classifier/phrases/rules.hpp"
#include "classifier/text/file_kinds.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t meaning_reach_tokens = 9;    // Largest distance of two concepts.
constexpr std::size_t meaning_reach_concepts = 4;  // Most concepts between them.

std::uint32_t mix(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t hash = a * 0x9E3779B1U ^ (b + 0x7F4A7C15U + (a << 6U) + (a >> 2U));
  hash ^= hash >> 15U;
  hash *= 0x85EBCA77U;
  return hash ^ hash >> 13U;
}

// Stack frames say where, not what.
bool is_stack_frame(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = line.substr(begin);
  if (begin == 0)
    return rest.starts_with("goroutine ") ||
           (rest.starts_with("#") && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9');
  return rest.starts_with("at ") || rest.starts_with("File \"") || rest.starts_with("from /") ||
         rest.starts_with("... ") || rest.starts_with("#") ||
         rest.find_first_not_of("^~ ") == std::string_view::npos;
}

class LineFeatures {
 public:
  LineFeatures(const std::vector<Token>& tokens, FeatureBuffer& out) : tokens_(tokens), out_(out) {}

  void run() {
    words();
    meanings();
  }

 private:
  // In phrases, a word of known meaning counts as its concept.
  static std::uint32_t phrase_hash(const Token& token) {
    return token.meaning != 0 ? mix(0xC0, token.meaning) : token.hash;
  }

  void words() {
    using enum FeatureGroup;
    std::uint32_t word_1 = 0;
    std::uint32_t phrase_1 = 0;
    std::uint32_t phrase_2 = 0;
    for (const Token& token : tokens_) {
      if (token.kind == TokenKind::inner) {
        out_.add(word, mix(1, token.hash));
        if (token.meaning != 0) out_.add(meaning, mix(2, token.meaning));
        continue;
      }
      const std::uint32_t phrase = phrase_hash(token);
      out_.add(word, mix(1, token.hash));
      if (token.prefix != 0) out_.add(affix, mix(3, token.prefix));
      if (token.suffix != 0) out_.add(affix, mix(4, token.suffix));
      if (token.meaning != 0) out_.add(meaning, mix(2, token.meaning));
      if (word_1 != 0) out_.add(word_pair, mix(word_1, token.hash));
      if (phrase_1 != 0) out_.add(phrase_pair, mix(mix(5, phrase_1), phrase));
      if (phrase_2 != 0) out_.add(phrase_triple, mix(mix(mix(6, phrase_2), phrase_1), phrase));
      word_1 = token.hash;
      phrase_2 = phrase_1;
      phrase_1 = phrase;
    }
  }

  void meanings() {
    using enum FeatureGroup;
    struct Seen {
      Concept meaning;
      std::size_t place;
    };
    std::array<Seen, meaning_reach_concepts + 1> recent{};
    std::size_t known = 0;
    std::size_t place = 0;
    for (const Token& token : tokens_) {
      if (token.kind == TokenKind::inner) continue;
      ++place;
      if (token.hash == sentence_end_mark) known = 0;
      if (token.meaning == 0) continue;
      for (std::size_t i = 0; i < known; ++i) {
        if (place - recent[i].place > meaning_reach_tokens) break;
        out_.add(meaning_pair, mix(mix(8, recent[i].meaning), token.meaning));
      }
      if (known >= 2 && place - recent[1].place <= 2 * meaning_reach_tokens) {
        out_.add(meaning_triple,
                 mix(mix(mix(9, recent[1].meaning), recent[0].meaning), token.meaning));
      }
      for (std::size_t i = recent.size() - 1; i > 0; --i) recent[i] = recent[i - 1];
      recent[0] = {token.meaning, place};
      known = std::min(known + 1, recent.size());
    }
  }

  const std::vector<Token>& tokens_;
  FeatureBuffer& out_;
};

void extract_line(std::string_view line, const Lexicon& lexicon, const KnownNames& known,
                  FeatureBuffer& buffer) {
  buffer.tokens.clear();
  if (is_stack_frame(line)) {
    buffer.add(FeatureGroup::word, mark_hash("<frame>"));
    buffer.kind = TextKind::program;
    return;
  }
  buffer.names.clear();
  find_names(line, buffer.names);
  add_unknown_names(line, known, buffer.names);
  if (buffer.names.empty()) {
    tokenize_line(line, lexicon, buffer.tokens);
  } else {
    tokenize_line(without_names(line, buffer.names), lexicon, buffer.tokens);
  }
  const bool names_source =
      std::any_of(buffer.tokens.begin(), buffer.tokens.end(),
                  [](const Token& token) { return token.hash == source_file_mark; });
  if (names_source) buffer.kind = TextKind::program;
  LineFeatures(buffer.tokens, buffer).run();
}

}  // namespace

void FeatureBuffer::clear() noexcept {
  for (const Feature& feature : features) {
    const std::uint32_t bit = feature.hash & (seen_bits - 1);
    seen[bit / 64] = 0;
  }
  features.clear();
  kind = TextKind::message;
}

void FeatureBuffer::add(FeatureGroup group, std::uint32_t hash) {
  const std::uint32_t bit = hash & (seen_bits - 1);
  const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
  if ((seen[bit / 64] & mask) != 0) return;
  seen[bit / 64] |= mask;
  features.push_back({hash, group});
}

void extract_features(std::string_view text, const Lexicon& lexicon, const KnownNames& known,
                      FeatureBuffer& buffer) {
  const bool is_long = text.size() > 2 * text_window_bytes;
  const std::string_view tail = is_long ? text.substr(text.size() - text_window_bytes) : "";
  for (std::string_view window : {is_long ? text.substr(0, text_window_bytes) : text, tail}) {
    while (!window.empty()) {
      const std::size_t end = std::min(window.find('\n'), window.size());
      extract_line(window.substr(0, end), lexicon, known, buffer);
      window.remove_prefix(std::min(end + 1, window.size()));
    }
  }
}

void extract_type_features(std::string_view type_name, const Lexicon& lexicon,
                           FeatureBuffer& buffer) {
  extract_line(last_name_component(type_name.substr(0, 256)), lexicon, KnownNames(), buffer);
}

void add_program_features(FeatureBuffer& buffer) {
  if (buffer.kind != TextKind::program) return;
  const std::size_t count = buffer.features.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Feature feature = buffer.features[i];
    if (feature.group != FeatureGroup::meaning && feature.group != FeatureGroup::meaning_pair) {
      continue;
    }
    buffer.add(feature.group, mix(11, feature.hash));
  }
}

void extract_code_features(std::string_view kind, int code, FeatureBuffer& buffer) {
  const std::uint32_t hash = mix(10, mark_hash(kind));
  buffer.add(FeatureGroup::code, mix(hash, static_cast<std::uint32_t>(code)));
  buffer.add(FeatureGroup::code, mix(hash, static_cast<std::uint32_t>(code / 100) + 0x10000U));
}

}  // namespace triage::inline v0_1::detail
