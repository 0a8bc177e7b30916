// SPDX-License-Identifier: MIT
#pragma once
// The corpus of failures: data/failures/*.jsonl, one row a line, and the wordings of
// data/failures/*.grammar.

#include "triage/failure.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::training {

enum class RowKind : std::uint8_t { written, provoked, paraphrase, correction };

struct Row {
  Failure failure{};  // The text, and the codes that its origin carries.
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
  std::size_t written_origins = 0;  // The first ones; behind them stand the patterns of grammars.
};

// Wordings taken from one pattern of a grammar.
inline constexpr std::size_t wordings_a_pattern = 16;

// A wording that shares more with a row is not used: the row teaches the same, and rows of an
// origin that is left out must not be known from elsewhere.
inline constexpr double most_shared = 0.5;

// Reads every *.jsonl of a folder, in the order of their names, then every *.grammar: its wordings
// are paraphrases, each pattern an origin of its own.
// Errors: Errc::not_found without rows; Errc::invalid_argument, naming file, line and what is
// wrong.
[[nodiscard]] Result<Corpus> read_corpus(const std::string& folder);

}  // namespace triage::training
