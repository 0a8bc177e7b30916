// SPDX-License-Identifier: MIT
#pragma once
// A table of "for this failure and history, expect that decision", to check a policy.

#include "triage/policy.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// A row's expectation. Fields left out are not compared.
struct ExpectedDecision {
  RecoveryAction::Kind action = RecoveryAction::Kind::escalate;
  std::optional<Duration> delay{};           // Exact.
  std::optional<Duration> delay_at_least{};  // Inclusive.
  std::optional<Duration> delay_at_most{};   // Inclusive.
  std::string hint_has{};                    // Substring of the hint.
  std::string message_has{};                 // Substring of the message.
  std::string subgoal{};                     // The whole subgoal.
  std::optional<RollbackTarget::Kind> target{};
};

struct DecisionRow {
  std::string name{};
  FailureContext given{};
  ExpectedDecision expect{};
};

// For any test framework: CHECK(table.mismatches(policy).empty()), or compare report() with an
// empty text so that a failing test prints the differences.
class DecisionTable {
 public:
  DecisionTable() = default;
  DecisionTable(std::initializer_list<DecisionRow> rows) : rows_(rows) {}

  DecisionTable& add(DecisionRow row);
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }

  // One line per row that does not hold, in row order; empty if all hold. An exception from a
  // strategy is a mismatch.
  [[nodiscard]] std::vector<std::string> mismatches(const FailurePolicy& policy) const;
  // The mismatches as one text.
  [[nodiscard]] std::string report(const FailurePolicy& policy) const;

 private:
  std::vector<DecisionRow> rows_{};
};

}  // namespace triage::inline v0_1::testing
