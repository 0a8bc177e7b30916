// SPDX-License-Identifier: MIT
#pragma once
// The corpus of failures: data/failures/*.jsonl, one row a line.

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
};

// Reads every *.jsonl of a folder, in the order of their names.
// Errors: Errc::not_found without rows; Errc::invalid_argument, naming file, line and what is
// wrong.
[[nodiscard]] Result<Corpus> read_corpus(const std::string& folder);

}  // namespace triage::training
