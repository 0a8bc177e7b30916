// SPDX-License-Identifier: MIT
#pragma once
// What an agent with these options would do about a failure, in order.

#include "triage/agent_options.hpp"

#include <string>

namespace triage::inline v0_1::testing {

// As text, also for golden files: gates, guard, contract, budget, store, classifier, hooks, limits
// and the strategy of each failure type; then problems, and settings without effect. Equal options
// give equal texts.
[[nodiscard]] std::string describe_pipeline(const FailurePolicy& policy,
                                            const AgentOptions& options = {});

}  // namespace triage::inline v0_1::testing
