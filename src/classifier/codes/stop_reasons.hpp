// SPDX-License-Identifier: MIT
#pragma once
// Why a model or an agent stopped, if a text says so: finish_reason, stop_reason, … Private.

#include "classifier/codes/text_codes.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// What a reason means; empty if it is unknown or not a failure ("stop", "end_turn", "tool_use").
// Ignores case and separators: "max_tokens", "MAX_TOKENS", "maxTokens".
[[nodiscard]] std::optional<CodeMeaning> stop_reason_meaning(std::string_view reason) noexcept;

// The reasons that follow a name for them: `"finish_reason": "length"`, `stopReason=maxTokens`,
// `finish_reason is MAX_TOKENS`. At most 16, in the first and last window. Linear.
void find_stop_reasons(std::string_view text, std::vector<TextCode>& codes);

}  // namespace triage::inline v0_1::detail
