// SPDX-License-Identifier: MIT
#pragma once
// How failures of supervised runs are handled.

#include "supervise/spec/spec.hpp"
#include "triage/classifier.hpp"
#include "triage/policies/document.hpp"
#include "triage/policy.hpp"

#include <memory>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Parses a policy document, in YAML too if this build supports it. Injected because YAML is
// optional. shared: where its gates keep state shared by all processes.
using ReadPolicy = Result<PolicyDocument> (*)(std::string_view text,
                                              std::shared_ptr<KeySpace> shared);

// The reason of a failure that happened before the child did anything and is otherwise unknown.
inline constexpr const char* start_up_reason = "start_up";
// Of a failure for which no further attempt is made: the program cannot be executed.
inline constexpr const char* not_executed_reason = "not_executed";
// Likewise: the run's own limits keep the program from starting.
inline constexpr const char* limit_too_low_reason = "limit_too_low";
// Marks such a failure for the classifier, as evidence of this source.
inline constexpr const char* start_up_mark = "start-up failure: ";

// One policy for all supervised runs, so that any process with the store can continue any of them:
// it reads the run's own document or options from the run's task. Without a document, a retry
// starts with the failed attempt's state, in which a program stores where to continue. state: that
// state, if any.
[[nodiscard]] FailurePolicy policy_of_runs(ReadPolicy read, std::shared_ptr<const Json> state);

// The policy without a document: waits for transient failures, restarts after crashes, and gives up
// if waiting cannot help.
[[nodiscard]] FailurePolicy default_policy(const RunSpec& spec);

// The default classifier, but with reason "start_up" if it finds nothing and the failure's
// exception type is start_up_mark.
[[nodiscard]] std::shared_ptr<Classifier> classifier_of_runs();

}  // namespace triage::inline v0_1::supervise
