// SPDX-License-Identifier: MIT
#pragma once
// A single rule of a fault mix as JSON.

#include "triage/lab/fault_mix.hpp"

#include <string>

namespace triage::inline v0_1::lab::detail {

// path: the rule's, for its problems. Errors: Errc::invalid_argument with a line for each.
[[nodiscard]] Result<FaultRule> fault_rule_from_json(const Json& json, const std::string& path);
[[nodiscard]] Result<void> check_fault_rule(const FaultRule& rule, const std::string& path);

}  // namespace triage::inline v0_1::lab::detail
