// SPDX-License-Identifier: MIT
#pragma once
// Where messages go: asks conditions and selectors, which are user code.

#include "scheduler.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The routes of a message along these ways out; with a target, only to that one. Errors:
// Errc::invalid_argument: a selector names no target, or no way leads to the target. Exceptions of
// conditions and selectors pass through.
[[nodiscard]] Result<std::vector<Route>> routes_of(const Plan& plan, const std::vector<Exit>& exits,
                                                   const Message& message,
                                                   std::optional<std::string_view> target = {});

// Where what a node outputs goes: along the edges of the nested workflow that it is in, or of one
// around that. Null: out of the run.
[[nodiscard]] const std::vector<Exit>* exits_of_output(const Plan& plan, std::size_t node);

}  // namespace triage::inline v0_1::workflow::detail
