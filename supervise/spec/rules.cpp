// SPDX-License-Identifier: MIT
#include "supervise/spec/rules.hpp"

#include "triage/policies/backoff.hpp"
#include "triage/policies/replan.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The number of newest consecutive failures that are start-up failures.
int start_ups_before(const FailureContext& context) {
  const auto& history = context.history;
  const auto other = std::find_if(history.rbegin(), history.rend(), [](const HistoryEntry& entry) {
    return entry.reason != start_up_reason;
  });
  return static_cast<int>(other - history.rbegin());
}

// Such failures have a small budget of their own: what failed to start a few times will not start.
RecoveryAction never_starts(int failures) {
  return RecoveryAction::escalate("it failed " +
                                  (failures == 1 ? "once" : std::to_string(failures) + " times") +
                                  " before it had done anything");
}

// Waiting only makes sense for a quota that names when it is replenished. Who asks for less than a
// minute, or names a time that has passed, may do so for ever: that wait grows, and how often is
// limited. All failures of the quota count, also those of a long run whose waits were in earnest:
// hence a limit that takes four hours of short ones.
Strategy wait_for_quota() {
  const Strategy shortly = retry_with_backoff({.max_attempts = 60,
                                               .base_delay = seconds(5),
                                               .max_delay = std::chrono::minutes(5),
                                               .jitter = Jitter::none});
  return Strategy("wait_for_quota", [shortly](const FailureContext& context) {
    const auto& asked = context.classification.retry_after;
    if (!asked) return RecoveryAction::escalate();
    if (*asked < std::chrono::minutes(1)) return shortly(context);
    return RecoveryAction::retry("", *asked);
  });
}

RecoveryAction keep_state(RecoveryAction action, const Json& state) {
  if (action.kind == RecoveryAction::Kind::retry && state.is_object() && !state.empty()) {
    action.value = std::make_shared<const Json>(state);
  }
  return action;
}

RecoveryAction decide(const FailureContext& context, ReadPolicy read, const Json& state) {
  const Json task = Json::parse(context.task, nullptr, false);
  const auto spec = spec_from_json(task);
  if (!spec) return RecoveryAction::escalate(spec.error().detail);
  const std::uint64_t calls = spec.value().budget.calls;
  if (calls > 0 && context.usage.calls >= calls) {
    return RecoveryAction::escalate("the budget of " + std::to_string(calls) +
                                    " calls of a model is spent");
  }
  if (context.classification.reason == not_executed_reason) {
    return RecoveryAction::escalate("the program cannot be executed");
  }
  if (context.classification.reason == limit_too_low_reason) {
    return RecoveryAction::escalate("the program cannot start within its limits");
  }
  const bool starts = context.classification.reason == start_up_reason;
  const int failures = starts ? start_ups_before(context) + 1 : 0;
  if (starts && failures >= spec.value().start_ups) return never_starts(failures);
  if (spec.value().policy.empty()) {
    if (starts) {
      return keep_state(
          RecoveryAction::retry("", milliseconds(200) * (1 << std::min(failures - 1, 8))), state);
    }
    return keep_state(default_policy(spec.value()).decide(context), state);
  }
  const auto document = read(spec.value().policy, nullptr);
  if (!document) return RecoveryAction::escalate(document.error().detail);
  return document.value().policy.decide(context);
}

class StartUpClassifier final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    if (input.failure.exception_type != start_up_mark) {
      return default_classifier()->classify(input);
    }
    Failure plain = input.failure;
    plain.exception_type.clear();
    Classification found =
        default_classifier()->classify({.failure = plain,
                                        .trajectory = input.trajectory,
                                        .task = input.task,
                                        .restored_steps = input.restored_steps,
                                        .contract = input.contract,
                                        .breaches = input.breaches,
                                        .deadline_passed = input.deadline_passed,
                                        .rolled_back_step = input.rolled_back_step,
                                        .newest_call_tokens = input.newest_call_tokens,
                                        .result = input.result,
                                        .remaining = input.remaining,
                                        .stop_token = input.stop_token,
                                        .clock = input.clock});
    if (found.type == FailureType::unknown) found.reason = start_up_reason;
    return found;
  }
};

}  // namespace

FailurePolicy policy_of_runs(ReadPolicy read, std::shared_ptr<const Json> state) {
  FailurePolicy policy;
  policy.otherwise(
      Strategy("triage-run 1", [read, state = std::move(state)](const FailureContext& context) {
        return decide(context, read, *state);
      }));
  return policy;
}

FailurePolicy default_policy(const RunSpec& spec) {
  const auto most = [&spec](int usual) {
    return spec.max_attempts > 0 ? spec.max_attempts : usual;
  };
  const auto patiently = [&most](int usual, Duration base, Duration longest) {
    return retry_with_backoff(
        {.max_attempts = most(usual), .base_delay = base, .max_delay = longest});
  };
  const Strategy otherwise = replan({.max_replans = most(3) - 1});
  FailurePolicy policy;
  policy.on(FailureType::external_fault, patiently(8, seconds(1), seconds(60)))
      .on(FailureType::timeout, patiently(3, seconds(1), seconds(10)))
      .on(FailureType::crashed, patiently(4, milliseconds(200), seconds(10)))
      .on(FailureType::unknown, patiently(3, milliseconds(500), seconds(10)))
      .on(FailureType::quota_exhausted, wait_for_quota())
      .on(FailureType::access_denied, escalate())
      .on(FailureType::refused, escalate())
      .otherwise(otherwise);
  return policy;
}

std::shared_ptr<Classifier> classifier_of_runs() { return std::make_shared<StartUpClassifier>(); }

}  // namespace triage::inline v0_1::supervise
