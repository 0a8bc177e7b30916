// SPDX-License-Identifier: MIT
#include "triage/policies/resume.hpp"

#include "describe.hpp"

namespace triage::inline v0_1 {
namespace {

RecoveryAction decide(const ResumeFromSubgoalOptions& options, const FailureContext& context) {
  const std::string subgoal = options.subgoal.empty()
                                  ? context.incomplete_subgoal.value_or(std::string{})
                                  : options.subgoal;
  if (subgoal.empty()) {
    return RecoveryAction::escalate(
        "resume_from_subgoal has no subgoal for " + std::string(to_string(context.type())) +
        ": incomplete_subgoal is missing from the failure (declare AgentContract::subgoals) and "
        "the option subgoal is empty");
  }
  return RecoveryAction::resume(subgoal, options.hint);
}

}  // namespace

Strategy resume_from_subgoal(ResumeFromSubgoalOptions options) {
  detail::StrategyBuilder builder("resume_from_subgoal");
  builder
      .option("subgoal",
              options.subgoal.empty() ? "incomplete_subgoal" : detail::quoted(options.subgoal))
      .text("hint", options.hint);
  return builder.build([options = std::move(options)](const FailureContext& context) {
    return decide(options, context);
  });
}

}  // namespace triage::inline v0_1
