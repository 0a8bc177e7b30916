// SPDX-License-Identifier: MIT
#pragma once
// Who leads a conversation: plans, and gives the orders that the others reply to. Private.

#include "classifier/blame/talk.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// "Planner (-> Coder)"; empty if unknown. And "Planner", without what follows.
[[nodiscard]] std::string_view agent_of(const Step& step);
[[nodiscard]] std::string_view plain_name(const Step& step);
// Whether the agent's name says that this step is an order.
[[nodiscard]] bool gives_order(const Step& step);

// The plain name of the agent whose name says that it gives orders; else of the one behind whose
// steps most others speak, if it names them, or two or more do and it writes no code. Empty if two
// equals are such.
[[nodiscard]] std::optional<std::string_view> leader_of(const std::vector<TalkStep>& steps);

}  // namespace triage::inline v0_1::detail
