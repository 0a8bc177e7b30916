// SPDX-License-Identifier: MIT
#include "classifier/blame/loops.hpp"
#include "contract/contract_return.hpp"
#include "contract/step_breaches.hpp"
#include "evidence/findings.hpp"
#include "triage/detail/counted.hpp"

#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// For a failure without a run. Newest first, because the steps share a budget.
std::vector<StepBreach> judge_newest(const ClassifierInput& input) {
  std::vector<StepBreach> kept;
  JudgingBudget budget;
  std::size_t steps = 0;
  visit_newest_first(input.trajectory, input.restored_steps,
                     [&](std::size_t index, const Step& step) {
                       keep_breaches(judge_step(*input.contract, step, budget), index, kept);
                       return ++steps < newest_steps_read;
                     });
  return kept;
}

void check_steps(const ClassifierInput& input, Findings& findings) {
  if (!judges_steps(*input.contract)) return;
  std::vector<StepBreach> breaches;
  if (input.breaches == nullptr) {
    breaches = judge_newest(input);
  } else {
    breaches.assign(input.breaches->rbegin(), input.breaches->rend());
  }
  const auto newest_called = newest_call(input);
  const auto newest_said = newest_output(input);
  const auto failed = last_failed_step(input);
  for (StepBreach& breach : breaches) {
    Evidence& told = breach.evidence;
    if (!breach.checked()) {
      if (std::ssize(findings.notes) < most_unchecked_told) {
        findings.notes.push_back(std::move(told));
      }
      continue;
    }
    const bool said = told.suggests == FailureType::constraint_ignored;
    // The run survived older breaches, unless the call failed.
    const bool counts = said ? newest_said == told.step
                             : newest_called == told.step || (failed && failed == told.step);
    told.confidence = !counts ? 0.6 : said ? 0.95 : 0.97;
    findings.list.push_back({FindingKind::contract, breach.reason, std::move(told)});
  }
}

// Tokens used by the step's model call: metadata.tokens; 0 if absent.
std::uint64_t tokens_of(const Step& step) {
  if (!step.metadata.is_object()) return 0;
  const auto tokens = step.metadata.find("tokens");
  if (tokens == step.metadata.end() || !tokens->is_number_integer()) return 0;
  // A number that was written in C++ is signed.
  const bool negative = !tokens->is_number_unsigned() && tokens->get<std::int64_t>() < 0;
  return negative ? 0 : tokens->get<std::uint64_t>();
}

void check_context(const ClassifierInput& input, Findings& findings) {
  const std::uint64_t limit = input.contract->context_limit;
  if (limit == 0) return;
  std::uint64_t tokens = 0;
  std::optional<std::size_t> at;
  std::size_t steps = 0;
  visit_newest_first(input.trajectory, input.restored_steps,
                     [&](std::size_t index, const Step& step) {
                       tokens = tokens_of(step);
                       if (tokens != 0) at = index;
                       return !at && ++steps < newest_steps_read;
                     });
  if (input.newest_call_tokens > tokens) {
    tokens = input.newest_call_tokens;
    at.reset();
  }
  if (tokens <= limit) return;
  findings.list.push_back(
      {.kind = FindingKind::contract,
       .reason = "context_limit_exceeded",
       .evidence = {
           .source = "contract",
           .suggests = FailureType::context_overflow,
           .detail = "The newest call to the model took " + counted(tokens, "token") + "; " +
                     std::to_string(limit) + " are allowed",
           .confidence = 0.97,
           .step = at,
           .facts = {{"tokens", std::to_string(tokens)}, {"limit", std::to_string(limit)}}}});
}

}  // namespace

void find_breaches(const ClassifierInput& input, Findings& findings) {
  if (input.contract == nullptr) return;
  check_return(input, findings);
  check_steps(input, findings);
  check_context(input, findings);
}

}  // namespace triage::inline v0_1::detail
