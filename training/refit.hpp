// SPDX-License-Identifier: MIT
#pragma once
// Fits the text model to the corpus and to corrections, and measures the corrections' benefit.

#include "corpus.hpp"
#include "triage/corrections.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace triage::training {

struct RefitOptions {
  std::size_t folds = 10;  // Groups of origins held out in turn; 0: each origin by itself.
  unsigned threads = 2;    // Does not affect the result.
};

// The answers of models that had not seen the rows.
struct Score {
  std::size_t rows = 0;
  std::size_t failures = 0;    // Rows whose label is a type.
  std::size_t said = 0;        // Rows that were given a type.
  std::size_t right = 0;       // Rows that were given the right type.
  std::size_t overridden = 0;  // Unknown rows that were given a type.

  void add(FailureType label, FailureType answer) noexcept;
};

struct ScoreChange {
  Score before{};  // Trained without the corrections.
  Score after{};   // Trained with those not held out.
};

struct RefitReport {
  std::size_t corpus_rows = 0;
  std::size_t origins = 0;  // In corpus and corrections together.
  std::size_t corrections = 0;
  std::size_t wordings = 0;  // Corrections that differ in more than names and numbers.
  std::size_t folds = 0;
  // With held-out origins, in the order of group_names().
  std::vector<ScoreChange> groups{};
  ScoreChange corpus{};                  // All rows of the corpus.
  ScoreChange corrections_by_origin{};   // Without any correction of the same origin …
  ScoreChange corrections_by_wording{};  // … or of the same wording.
};

struct Refit {
  std::string model{};  // The bytes of a model file.
  RefitReport report{};
};

// "routing-sensitive", "self-healing", "never retry", "the others".
[[nodiscard]] const std::vector<std::string>& group_names();

// Deterministic: the same rows in the same order give the same bytes.
// Errors: Errc::invalid_argument without corrections, or with fewer than two origins in all.
[[nodiscard]] Result<Refit> refit(const Corpus& corpus, const std::vector<Correction>& corrections,
                                  const RefitOptions& options = {});

// "Job 17 of 'x' failed" and "Job 4 of 'y' failed" have one wording.
[[nodiscard]] std::string wording_of(const Failure& failure);

}  // namespace triage::training
