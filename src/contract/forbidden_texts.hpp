// SPDX-License-Identifier: MIT
#pragma once
// Finds texts and patterns that a contract forbids an agent to say. Private.

#include "evidence/findings.hpp"

#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

[[nodiscard]] bool forbids_texts(const AgentContract& contract) noexcept;
// The first text or pattern in a model's output that the contract forbids.
[[nodiscard]] std::optional<Finding> forbidden_output(const AgentContract& contract,
                                                      std::string_view output);
// Checks the result in the input, if any: its strings and member names, at most 4 MB.
void check_result_texts(const ClassifierInput& input, Findings& findings);

}  // namespace triage::inline v0_1::detail
