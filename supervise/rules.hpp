// SPDX-License-Identifier: MIT
#pragma once
// What is done about the failures of supervised runs.

#include "supervise/spec.hpp"
#include "triage/classifier.hpp"
#include "triage/policies/document.hpp"
#include "triage/policy.hpp"

#include <memory>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Reads a policy document, in YAML too if this build can. Injected, since YAML is optional.
// shared: where its gates keep what all processes share.
using ReadPolicy = Result<PolicyDocument> (*)(std::string_view text,
                                              std::shared_ptr<KeySpace> shared);

// The reason of a failure that came before the child had done anything, of which nothing else is
// known.
inline constexpr const char* start_up_reason = "start_up";
// The reason with which such a failure is reported to the classifier: evidence of this source.
inline constexpr const char* start_up_mark = "start-up failure: ";

// One policy for all supervised runs, so that whoever has the store can go on with any of them: it
// reads the run's own document, or its options, from the run's task.
// Without a document a retry begins with the state that the failed attempt had: what a program was
// told to remember is the place from which it goes on. state: that state, where there is one.
[[nodiscard]] FailurePolicy policy_of_runs(ReadPolicy read, std::shared_ptr<const Json> state);

// What triage does without a policy document: waits for what passes by itself, begins anew what
// crashed, and gives up on what no wait helps.
[[nodiscard]] FailurePolicy default_policy(const RunSpec& spec);

// The default classifier, and the reason "start_up" where it knows nothing and the failure's
// exception type is start_up_mark.
[[nodiscard]] std::shared_ptr<Classifier> classifier_of_runs();

}  // namespace triage::inline v0_1::supervise
