// SPDX-License-Identifier: MIT
#pragma once
// What a single recorded step breaks of a contract. Private.

#include "triage/contract.hpp"
#include "triage/json_schema.hpp"

#include <cstddef>
#include <vector>

namespace triage::inline v0_1::detail {

inline constexpr std::ptrdiff_t most_unchecked_told = 8;

// The limits for judging several steps together.
struct JudgingBudget {
  std::size_t schema_rules = JsonSchema::most_rules;
  std::size_t bytes_said = 4U << 20U;      // Of Step::llm_output.
  std::size_t bytes_parsed = 512U << 10U;  // Of inputs given as JSON text.
  std::size_t names_compared = 4096;       // Tools of the manifest compared with unknown names.
};

// The tool with that name or alias; null if the manifest has none.
[[nodiscard]] const ToolContract* find_tool(const AgentContract& contract, const std::string& name);
// Whether a contract says anything about single steps.
[[nodiscard]] bool judges_steps(const AgentContract& contract) noexcept;
[[nodiscard]] std::vector<StepBreach> judge_step(const AgentContract& contract, const Step& step,
                                                 JudgingBudget& budget);

// Adds a step's breaches to those of earlier steps of its attempt. Keeps the oldest and the newest
// sixteen breaches, and the first eight notes about what could not be checked.
void keep_breaches(std::vector<StepBreach> found, std::size_t step, std::vector<StepBreach>& kept);

}  // namespace triage::inline v0_1::detail
