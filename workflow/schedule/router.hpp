// SPDX-License-Identifier: MIT
#pragma once
// Routes messages; calls conditions and selectors, which are user code.

#include "scheduler.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The routes of a message along these exits; with a target, only to that one. Errors:
// Errc::invalid_argument if a selector names no target, or no exit leads to the target. Exceptions
// of conditions and selectors propagate.
[[nodiscard]] Result<std::vector<Route>> routes_of(const Plan& plan, const std::vector<Exit>& exits,
                                                   const Message& message,
                                                   std::optional<std::string_view> target = {});

// Where a node's outputs go: along the edges of its nested workflow, or of one around that. Null:
// out of the run.
[[nodiscard]] const std::vector<Exit>* exits_of_output(const Plan& plan, std::size_t node);

}  // namespace triage::inline v0_1::workflow::detail
