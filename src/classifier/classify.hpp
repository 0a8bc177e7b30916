// SPDX-License-Identifier: MIT
#pragma once
// What the classifiers share: how a classification begins and ends. Private.

#include "evidence/findings.hpp"

namespace triage::inline v0_1::detail {

// Errors: Errc::invalid_argument, naming the option.
[[nodiscard]] Result<void> check_options(const RulesOptions& options);
// Finds facts and breaches. If the caller has named the type itself, that is the classification.
[[nodiscard]] std::optional<Classification> settled_by_caller(const ClassifierInput& input,
                                                              const RulesOptions& options,
                                                              Findings& findings);
// Adds how long to wait: what the caller, else a header, else the text says.
void add_wait(const ClassifierInput& input, std::optional<Duration> wait_in_text,
              Classification& result);

}  // namespace triage::inline v0_1::detail
