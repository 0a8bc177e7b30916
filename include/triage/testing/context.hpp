// SPDX-License-Identifier: MIT
#pragma once
// Builds a FailureContext to ask a policy about, without a run.

#include "triage/contract.hpp"
#include "triage/policy.hpp"
#include "triage/step.hpp"

#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::testing {

// context_for(FailureType::external_fault).after(4).retry_after(2s): fields not set are as in the
// first failure of a run. Converts to FailureContext.
class ContextBuilder {
 public:
  explicit ContextBuilder(FailureType type) { context_.classification.type = type; }

  // Sets the earlier failures of the run, oldest first.
  ContextBuilder& with_history(std::vector<HistoryEntry> history);
  // Appends `count` earlier failures of the same or another type.
  ContextBuilder& after(int count, RecoveryAction::Kind action = RecoveryAction::Kind::retry);
  ContextBuilder& after(int count, FailureType type,
                        RecoveryAction::Kind action = RecoveryAction::Kind::retry);
  // Default: one more than the earlier failures.
  ContextBuilder& attempt_number(int number);
  ContextBuilder& reason(std::string reason);
  ContextBuilder& confidence(double confidence);
  ContextBuilder& evidence(Evidence evidence);
  ContextBuilder& retry_after(Duration wait);
  ContextBuilder& step(Step step);  // Appends to the trajectory.
  ContextBuilder& critical_step(std::size_t index);
  ContextBuilder& task(std::string task);
  ContextBuilder& text(std::string text);
  ContextBuilder& elapsed(Duration elapsed);
  ContextBuilder& remaining(Duration remaining);
  ContextBuilder& random(double number);  // In [0, 1).
  ContextBuilder& usage(Usage usage);
  ContextBuilder& tools(std::vector<std::string> names);
  ContextBuilder& contract(AgentContract contract);  // Also sets the tools' names.
  ContextBuilder& incomplete_subgoal(std::string subgoal);

  [[nodiscard]] FailureContext build() const;
  operator FailureContext() const { return build(); }  // NOLINT(google-explicit-constructor)

 private:
  FailureContext context_{};
  bool numbered_ = false;
};

[[nodiscard]] inline ContextBuilder context_for(FailureType type) { return ContextBuilder(type); }

}  // namespace triage::inline v0_1::testing
