// SPDX-License-Identifier: MIT
#pragma once
// Failures that somebody has labelled: an append-only file that `triage train` learns from.

#include "triage/checkpoint_store.hpp"
#include "triage/failure.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"
#include "triage/taxonomy.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// One failure, what was made of it, and what it really was.
struct Correction {
  // Text, exception type, codes, headers, and type and text of the innermost four causes; the rest
  // is not kept.
  Failure failure{};
  FailureType type = FailureType::unknown;   // The right one; unknown: it should have been none.
  FailureType given = FailureType::unknown;  // What it was taken for.
  std::string reason{};                      // Why, in snake_case: "tool_not_found". May be empty.
  // Whose wording it is: 1 to 64 of a-z 0-9 + . -, beginning with a letter or digit. What comes
  // from one origin is left out together when the gain is measured.
  std::string origin{};
  std::string who{};  // Who says so; may be empty.
  RunId run{};        // Where it happened; empty if it was no run.
  WallTime when{};    // When it was labelled.
};

// The failure of a run as its journal tells it, not labelled yet (`type` is `given`, origin is made
// of the agent's name). failure: 1 for the run's first; without it the newest. Text and codes that
// were not reported are those of the last step, if it failed, as the classifier took them. A
// journal keeps no headers: they say when to try again, not what failed. Errors: Errc::not_found if
// the run has no such failure; Errc::corrupt if its record cannot be read.
[[nodiscard]] Result<Correction> correction_of(const JournalReading& reading,
                                               std::optional<std::size_t> failure = std::nullopt);

// What a file of corrections holds.
struct CorrectionsReading {
  struct Row {
    std::size_t line = 0;  // From 1.
    Correction correction{};
  };
  // A line that is no correction: "line 3: has no label; allowed are …".
  struct Problem {
    std::size_t line = 0;
    std::string detail{};
  };
  std::vector<Row> rows{};
  std::vector<Problem> problems{};
};

// A file of corrections: JSON Lines, the rows of the corpus (text, origin, label, reason, codes,
// causes, kind "correction") with given, who, run and when.
// Thread-safety: any number of threads and processes may append to one file, and read it meanwhile.
class Corrections {
 public:
  // Touches nothing; the first append makes the file, not its folder.
  explicit Corrections(std::string path) : path_(std::move(path)) {}

  // Adds one line. It is in the file as a whole, and durable, when this returns; a line that could
  // not be written in full is taken back. What a process that died left of a line stays a line of
  // its own. Errors: Errc::invalid_argument for a correction without text, exception type and
  // codes, or with an origin that is not allowed; Errc::not_found if the folder does not exist;
  // Errc::io.
  [[nodiscard]] Result<void> append(const Correction& correction) const;
  // Everything that can be read, and what cannot. Errors: Errc::not_found, Errc::io.
  [[nodiscard]] Result<CorrectionsReading> read() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace triage::inline v0_1
