// SPDX-License-Identifier: MIT
#pragma once
// What a contract says about an agent that returns: its result, its subgoals. Private.

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

// Whether a contract says anything about a result, and whether one can be broken by returning.
[[nodiscard]] bool judges_result(const AgentContract& contract) noexcept;
[[nodiscard]] bool judges_return(const AgentContract& contract) noexcept;

// Of the result in the input, if there is one: open subgoals, a wrong shape, forbidden texts.
void check_return(const ClassifierInput& input, Findings& findings);

// Why a value that was returned, or what was said before, is no success; nothing if it is one.
[[nodiscard]] std::optional<Classification> broken_return(const ClassifierInput& input);

// A value that breaks its schema; `tool` may be empty.
[[nodiscard]] Finding mismatch(std::string_view what, std::string_view reason,
                               const SchemaBreach& breach, const std::string& tool);

}  // namespace triage::inline v0_1::detail
