// SPDX-License-Identifier: MIT
#include "classifier/blame/loops.hpp"
#include "evidence/findings.hpp"

#include <algorithm>
#include <string>

namespace triage::inline v0_1::detail {
namespace {

// A thousand steps survived older errors, so they do not explain the failure.
constexpr std::size_t newest_steps_searched = 1024;

std::string_view reason_of(const Loop& loop) {
  if (loop.words_only) return "same_words_repeated";
  return loop.steps.size() == 1 ? "same_call_repeated" : "calls_repeat_in_turn";
}

void add_loop(const Loop& loop, Findings& findings) {
  const std::size_t period = loop.steps.size();
  const std::string what = loop.words_only ? "words of the model" : "tool call";
  std::string detail = period == 1 ? "The same " + what
                                   : "The same " + std::to_string(period) + " " + what +
                                         (loop.words_only ? "" : "s") + " in turn";
  if (!loop.agent.empty()) detail += " of agent \"" + printable(loop.agent.substr(0, 64)) + "\"";
  detail += ", " + std::to_string(loop.calls / period) + " times in a row";
  if (loop.without_progress) detail += " with the same result";
  detail += ", from step " + std::to_string(loop.first_step);
  findings.list.push_back({.kind = FindingKind::fact,
                           .reason = reason_of(loop),
                           .evidence = {.source = "loop",
                                        .suggests = FailureType::loop_detected,
                                        .detail = std::move(detail),
                                        .confidence = 0.97,
                                        .step = loop.first_step}});
  findings.critical_step = loop.first_step;
  findings.loop_steps = loop.steps;
  findings.loop_is_guess = !loop.without_progress || loop.only_fails;
}

// The other attempt's step is gone, so whether tool, input and error are the same is unknown. This
// hint supports a loop but never decides one.
void note_repetition(std::size_t step, Findings& findings) {
  findings.list.push_back(
      {.kind = FindingKind::fact,
       .reason = "failed_again_after_rollback",
       .evidence = {.source = "repeated_after_rollback",
                    .suggests = FailureType::loop_detected,
                    .detail = "The attempt failed again at step " + std::to_string(step) +
                              ", at which the last one failed before it was rolled back",
                    .confidence = 0.3,
                    .step = step}});
}

template <class Is>
std::optional<std::size_t> newest_step(const ClassifierInput& input, std::size_t most, Is is) {
  const std::size_t size = input.trajectory.size();
  const std::size_t oldest = std::max(input.restored_steps, size - std::min(size, most));
  std::optional<std::size_t> found;
  visit_newest_first(input.trajectory, oldest, [&](std::size_t index, const Step& step) {
    if (is(step)) found = index;
    return !found;
  });
  return found;
}

}  // namespace

bool step_failed(const Step& step) noexcept {
  return step.error || step.exception_type || step.json_rpc_code ||
         (step.http_status && *step.http_status >= 400) ||
         (step.grpc_status && *step.grpc_status != 0);
}

std::optional<std::size_t> last_failed_step(const ClassifierInput& input) {
  return newest_step(input, newest_steps_searched, step_failed);
}

std::optional<std::size_t> newest_call(const ClassifierInput& input) {
  return newest_step(input, newest_steps_read, [](const Step& step) {
    return step.tool_called && !step.tool_called->empty();
  });
}

std::optional<std::size_t> newest_output(const ClassifierInput& input) {
  return newest_step(input, newest_steps_read,
                     [](const Step& step) { return step.llm_output && !step.llm_output->empty(); });
}

void find_facts(const ClassifierInput& input, const RulesOptions& options, Findings& findings) {
  if (input.deadline_passed) {
    findings.list.push_back({.kind = FindingKind::fact,
                             .reason = "deadline",
                             .evidence = {.source = "deadline",
                                          .suggests = FailureType::timeout,
                                          .detail = "The deadline of the run has passed",
                                          .confidence = 1.0}});
  }
  findings.failed_step = last_failed_step(input);
  findings.critical_step = findings.failed_step;
  if (input.rolled_back_step && findings.critical_step == input.rolled_back_step) {
    note_repetition(*input.rolled_back_step, findings);
  }
  const auto loop =
      find_loop(input.trajectory, input.restored_steps,
                static_cast<std::size_t>(options.loop_window), options.longest_period);
  if (loop) add_loop(*loop, findings);
}

}  // namespace triage::inline v0_1::detail
