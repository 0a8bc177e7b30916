// SPDX-License-Identifier: MIT
#pragma once
// The corpus of failures: data/failures/*.jsonl, one row per line, and wordings from
// data/failures/*.grammar.

#include "triage/failure.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::training {

enum class RowKind : std::uint8_t { written, provoked, paraphrase, correction };

struct Row {
  Failure failure{};  // The text, and the codes given with it.
  FailureType label = FailureType::unknown;
  std::string reason{};
  std::size_t origin = 0;  // Index in Corpus::origins.
  RowKind kind = RowKind::written;
  std::string lang{};
  std::string place{};  // "llm.jsonl:12"
};

struct Corpus {
  std::vector<Row> rows{};
  std::vector<std::string> origins{};
  std::size_t written_origins = 0;  // These come first, followed by the patterns of grammars.
  std::string known_names{};        // Of rows and patterns, as detail::KnownNames reads it.
};

// Wordings per pattern of a grammar. In every second one the names are other ones: OtherNames.
inline constexpr std::size_t wordings_a_pattern = 16;

// Wordings more similar to a row are not used: they teach nothing new, and would leak rows of
// held-out origins.
inline constexpr double most_shared = 0.5;

// Reads every *.jsonl of a folder in the order of names, then every *.grammar, whose wordings are
// paraphrases with one origin per pattern. Errors: Errc::not_found without rows;
// Errc::invalid_argument, naming file, line and problem.
[[nodiscard]] Result<Corpus> read_corpus(const std::string& folder);

}  // namespace triage::training
