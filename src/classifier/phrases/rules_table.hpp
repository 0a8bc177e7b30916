// SPDX-License-Identifier: MIT
#pragma once
// Reads the text of the rule table: columns, kinds, types and {{names}}, not yet the patterns.
// Private.

#include "classifier/phrases/phrase_filter.hpp"
#include "classifier/phrases/rules.hpp"

namespace triage::inline v0_1::detail {

struct RuleRow {
  Rule rule{};
  std::string pattern{};
  std::string guard{};  // Empty: none.
};

// Errors: Errc::invalid_argument, naming the line.
[[nodiscard]] Result<std::vector<RuleRow>> read_rule_table(std::string_view table);

// The words that a table's patterns need, computed beforehand (data/rules_words.tsv) because RE2
// takes a hundred times as long. One line per rule: id, checksum of the pattern, words. Errors:
// Errc::invalid_argument, naming the line.
struct WrittenWords {
  std::string id{};
  std::uint32_t checksum = 0;  // CRC-32C of the pattern.
  PhraseWords words{};
};
[[nodiscard]] std::string show_words(const WrittenWords& written);
[[nodiscard]] Result<std::vector<WrittenWords>> read_words(std::string_view lines);
// Computes the words that a pattern needs; empty if it needs none or is invalid.
[[nodiscard]] std::optional<PhraseWords> words_of_pattern(const std::string& pattern);
// The lines for all patterns of a table, in the format of tools/write_rules_words.
[[nodiscard]] std::string written_words(const std::vector<RuleRow>& rows);

}  // namespace triage::inline v0_1::detail
