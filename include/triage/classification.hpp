// SPDX-License-Identifier: MIT
#pragma once
// What a classifier found out about a failure. Plain values.

#include "triage/clock.hpp"
#include "triage/taxonomy.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// One finding and its source, so that every decision can be explained.
struct Evidence {
  // "loop", "deadline", "contract", "http_status", "text", "exception_type", …
  std::string source{};
  FailureType suggests = FailureType::unknown;
  std::string detail{};               // What was found, in words.
  double confidence = 0.0;            // 0 to 1, for this finding alone.
  std::optional<std::size_t> step{};  // Index of the step it was found in.
  // The finding in machine-readable form; for a broken contract "tool", "nearest", "path",
  // "expected", "found", "schema_path", "subgoal", "tokens", "limit", "phrase", "pattern". Keys may
  // repeat.
  std::vector<std::pair<std::string, std::string>> facts{};

  friend bool operator==(const Evidence&, const Evidence&) = default;
};

// The answer a classifier would have given if forced to; too uncertain to act on.
struct Leaning {
  FailureType type = FailureType::unknown;
  std::string reason{};     // As in Classification.
  double confidence = 0.0;  // 0 to 1, that this type is right; 0 for unknown.

  friend bool operator==(const Leaning&, const Leaning&) = default;
};

struct Classification {
  FailureType type = FailureType::unknown;
  std::string reason{};     // "rate_limited", "connection_lost", "tool_not_in_manifest", …
  double confidence = 0.0;  // 0 to 1; 0 for unknown.
  std::vector<Evidence> evidence{};  // Starts with the deciding one.
  // The earliest step whose evidence explains the failure: the first of a loop, one that broke the
  // contract, one whose failure was not made up for, one whose result was empty or unlike the
  // others and was needed later; else the last that failed. Evidence of source "critical_step" says
  // why.
  std::optional<std::size_t> critical_step{};
  // Probability that a critical step guessed from the texts is right, 0 to 1; empty if evidence
  // decided. A run rolls back only for a guess of 0.5 or more.
  std::optional<double> critical_step_confidence{};
  std::optional<Duration> retry_after{};  // What the other side asked for.
  std::vector<std::size_t> loop_steps{};  // Indexes of one period of a detected loop.
  Leaning leaning{};  // Set if the type is unknown although something was found.

  friend bool operator==(const Classification&, const Classification&) = default;
};

}  // namespace triage::inline v0_1
