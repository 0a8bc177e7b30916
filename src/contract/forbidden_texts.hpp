// SPDX-License-Identifier: MIT
#pragma once
// Texts and patterns of a contract that an agent must not say. Private.

#include "evidence/findings.hpp"

#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

[[nodiscard]] bool forbids_texts(const AgentContract& contract) noexcept;
// The first text or pattern that the contract forbids, of what a model said.
[[nodiscard]] std::optional<Finding> forbidden_output(const AgentContract& contract,
                                                      std::string_view output);
// Of the result in the input, if there is one: texts in it and names of members, at most 4 MB.
void check_result_texts(const ClassifierInput& input, Findings& findings);

}  // namespace triage::inline v0_1::detail
