// SPDX-License-Identifier: MIT
#pragma once
// What a recorded step breaks of a contract, by itself. Private.

#include "triage/contract.hpp"
#include "triage/json_schema.hpp"

#include <cstddef>
#include <vector>

namespace triage::inline v0_1::detail {

inline constexpr std::ptrdiff_t most_unchecked_told = 8;

// What judging several steps may take together.
struct JudgingBudget {
  std::size_t schema_rules = JsonSchema::most_rules;
  std::size_t bytes_said = 4U << 20U;      // Of Step::llm_output.
  std::size_t bytes_parsed = 512U << 10U;  // Of inputs that are texts of JSON.
  std::size_t names_compared = 4096;       // Of the manifest, with names that are not in it.
};

// The tool of that name or alias; null if the manifest has none.
[[nodiscard]] const ToolContract* find_tool(const AgentContract& contract, const std::string& name);
// Whether a contract says anything about single steps.
[[nodiscard]] bool judges_steps(const AgentContract& contract) noexcept;
[[nodiscard]] std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step,
                                                 JudgingBudget& budget);

// Adds what a step broke to what earlier steps of its attempt did. Of many breaches the oldest and
// the newest sixteen are kept, of what could not be checked the first eight.
void keep_breaches(std::vector<StepBreach> found, std::size_t step, std::vector<StepBreach>& kept);

}  // namespace triage::inline v0_1::detail
