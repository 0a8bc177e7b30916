// SPDX-License-Identifier: MIT
#pragma once
// What the classifiers share: the beginning and the end of a classification. Private.

#include "evidence/findings.hpp"

namespace triage::inline v0_1::detail {

// Errors: Errc::invalid_argument, naming the option.
[[nodiscard]] Result<void> check_options(const RulesOptions& options);
// Finds facts and breaches. If the caller named the type, that is the classification.
[[nodiscard]] std::optional<Classification> settled_by_caller(const ClassifierInput& input,
                                                              const RulesOptions& options,
                                                              Findings& findings);
// Adds how long to wait: according to the caller, else a header, else the text.
void add_wait(const ClassifierInput& input, std::optional<Duration> wait_in_text,
              Classification& result);

}  // namespace triage::inline v0_1::detail
