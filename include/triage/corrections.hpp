// SPDX-License-Identifier: MIT
#pragma once
// Labelled failures: an append-only file that `triage train` learns from.

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

// One failure, its classification, and its right type.
struct Correction {
  // Keeps text, exception type, codes, headers, and type and text of the innermost four causes
  // only.
  Failure failure{};
  FailureType type = FailureType::unknown;   // The right one; unknown: no type was right.
  FailureType given = FailureType::unknown;  // The type it was classified as.
  std::string reason{};                      // Why, in snake_case: "tool_not_found". May be empty.
  // Whose wording it is: 1 to 64 of a-z 0-9 + . -, starting with a letter or digit. Rows of one
  // origin are held out together when the gain is measured.
  std::string origin{};
  std::string who{};  // Who labelled it; may be empty.
  RunId run{};        // Where it happened; empty if not in a run.
  WallTime when{};    // When it was labelled.
};

// An unlabelled correction (`type` is `given`) from a failure in a run's journal; the agent's name
// gives the origin. failure: 1 for the run's first; empty for the newest. Text and codes that were
// not reported come from the last step if it failed, as in classification. Journals keep no
// headers: those say when to try again, not what failed. Errors: Errc::not_found if the run has no
// such failure; Errc::corrupt if its record cannot be read.
[[nodiscard]] Result<Correction> correction_of(const JournalReading& reading,
                                               std::optional<std::size_t> failure = std::nullopt);

// The content of a file of corrections.
struct CorrectionsReading {
  struct Row {
    std::size_t line = 0;  // From 1.
    Correction correction{};
  };
  // A line that is not a correction: "line 3: has no label; allowed are …".
  struct Problem {
    std::size_t line = 0;
    std::string detail{};
  };
  std::vector<Row> rows{};
  std::vector<Problem> problems{};
};

// A file of corrections: JSON Lines, the rows of the corpus (text, origin, label, reason, codes,
// causes, kind "correction") with given, who, run and when.
// Thread-safety: threads and processes may append to one file and read it at the same time.
class Corrections {
 public:
  // Opens nothing; the first append creates the file, but not its folder.
  explicit Corrections(std::string path) : path_(std::move(path)) {}

  // Appends one line, whole and durable on return; a line that could not be written in full is
  // removed. A partial line from a process that died stays a separate line. Errors:
  // Errc::invalid_argument for a correction without text, exception type and codes, or with a bad
  // origin; Errc::not_found if the folder does not exist; Errc::io.
  [[nodiscard]] Result<void> append(const Correction& correction) const;
  // All readable rows, and problems for the rest. Errors: Errc::not_found, Errc::io.
  [[nodiscard]] Result<CorrectionsReading> read() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace triage::inline v0_1
