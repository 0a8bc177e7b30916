// SPDX-License-Identifier: MIT
#pragma once
// Why a model or an agent stopped, where a text names it: finish_reason, stop_reason, … Private.

#include "classifier/codes/text_codes.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// What a reason means; empty for one that is no failure ("stop", "end_turn", "tool_use") or not
// known. In any case, with or without separators: "max_tokens", "MAX_TOKENS", "maxTokens".
[[nodiscard]] std::optional<CodeMeaning> stop_reason_meaning(std::string_view reason) noexcept;

// The reasons that stand behind a name for them: `"finish_reason": "length"`,
// `stopReason=maxTokens`, `finish_reason is MAX_TOKENS`. Of the first and last window, at most 16.
// Linear.
void find_stop_reasons(std::string_view text, std::vector<TextCode>& codes);

}  // namespace triage::inline v0_1::detail
