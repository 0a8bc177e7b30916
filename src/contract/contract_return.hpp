// SPDX-License-Identifier: MIT
#pragma once
// Checks a returning agent against its contract: its result and its subgoals. Private.

#include "evidence/findings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The subgoals that no step of the trajectory completes, restored steps included, in the contract's
// order. O(steps) if there are subgoals.
[[nodiscard]] std::vector<std::string> open_subgoals(const AgentContract& contract,
                                                     const Trajectory& trajectory);

// Whether a contract constrains the result, and whether returning can break it at all.
[[nodiscard]] bool judges_result(const AgentContract& contract) noexcept;
[[nodiscard]] bool judges_return(const AgentContract& contract) noexcept;

// Checks the result in the input, if any: open subgoals, a wrong shape, forbidden texts.
void check_return(const ClassifierInput& input, Findings& findings);

// Why the returned value or the output before it is not a success; empty if it is.
[[nodiscard]] std::optional<Classification> broken_return(const ClassifierInput& input);

// The finding for a value that breaks its schema; `tool` may be empty.
[[nodiscard]] Finding mismatch(std::string_view what, std::string_view reason,
                               const SchemaBreach& breach, const std::string& tool);

}  // namespace triage::inline v0_1::detail
