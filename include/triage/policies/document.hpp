// SPDX-License-Identifier: MIT
#pragma once
// A whole policy document: strategies by failure type, gates, and a budget.
//
// Beside the keys that policy_from_json knows, it may have "gates", an object with the keys
// "circuit_breaker", "rate_limiter", "bulkhead" and "retry_budget", each with that gate's options
// as arguments (a retry budget may also be the name "aws" or "grpc"), and "budget", an object with
// BudgetLimits' fields, and "attempt_timeout", a duration. docs/policies.md lists every argument.

#include "triage/budget.hpp"
#include "triage/gate.hpp"
#include "triage/key_space.hpp"
#include "triage/policies/registry.hpp"
#include "triage/policy.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// What AgentOptions and a TriageAgent take from a document.
struct PolicyDocument {
  FailurePolicy policy{};
  std::vector<std::shared_ptr<Gate>> gates{};  // In the order in which they are asked.
  std::shared_ptr<Budget> budget{};            // Null if the document has none.
  Duration attempt_timeout{0};                 // For AgentOptions; 0 if the document has none.
};

// shared: where gates keep what all processes share; null: each process by itself.
// Errors: Errc::invalid_argument, naming the path of the key ("gates.rate_limiter.permits"), its
// value and what is allowed; one line for each thing that is wrong, 50 at most.
[[nodiscard]] Result<PolicyDocument> document_from_json(const nlohmann::json& document,
                                                        const StrategyRegistry& registry,
                                                        std::shared_ptr<KeySpace> shared = {});
// From the text of a JSON document; refuses keys that appear twice.
[[nodiscard]] Result<PolicyDocument> document_from_text(std::string_view text,
                                                        const StrategyRegistry& registry,
                                                        std::shared_ptr<KeySpace> shared = {});

}  // namespace triage::inline v0_1
