// SPDX-License-Identifier: MIT
#pragma once
// A whole policy document: strategies by failure type, gates, and a budget.
//
// Besides the keys of policy_from_json, it may have "gates", an object with the keys
// "circuit_breaker", "rate_limiter", "bulkhead" and "retry_budget", each with that gate's options
// as arguments (a retry budget may also be the name "aws" or "grpc"), and "budget", an object with
// the fields of BudgetLimits, and "attempt_timeout", a duration. docs/policies.md lists every
// argument.

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

// A document's content, for AgentOptions and a TriageAgent.
struct PolicyDocument {
  FailurePolicy policy{};
  std::vector<std::shared_ptr<Gate>> gates{};  // In the order of asking.
  std::shared_ptr<Budget> budget{};            // Null if the document has none …
  BudgetLimits budget_limits{};                // … and its limits.
  Duration attempt_timeout{0};                 // For AgentOptions; 0 if the document has none.
};

// shared: where gates keep state shared by all processes; null: each process has its own.
// Errors: Errc::invalid_argument, naming the path of the key ("gates.rate_limiter.permits"), its
// value and what is allowed; one line per problem, 50 at most.
[[nodiscard]] Result<PolicyDocument> document_from_json(const nlohmann::json& document,
                                                        const StrategyRegistry& registry,
                                                        std::shared_ptr<KeySpace> shared = {});
// Parses a JSON document; refuses duplicate keys.
[[nodiscard]] Result<PolicyDocument> document_from_text(std::string_view text,
                                                        const StrategyRegistry& registry,
                                                        std::shared_ptr<KeySpace> shared = {});

}  // namespace triage::inline v0_1
