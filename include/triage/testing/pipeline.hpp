// SPDX-License-Identifier: MIT
#pragma once
// What an agent with these options would do about a failure, in the order in which it is done.

#include "triage/agent_options.hpp"

#include <string>

namespace triage::inline v0_1::testing {

// For people and for golden files: gates, guard, contract, budget, store, classifier, hooks, limits
// and the strategy of each failure type; then what is wrong with them, and what can have no effect.
// The same options give the same text.
[[nodiscard]] std::string describe_pipeline(const FailurePolicy& policy,
                                            const AgentOptions& options = {});

}  // namespace triage::inline v0_1::testing
