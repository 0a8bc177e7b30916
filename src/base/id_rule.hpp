// SPDX-License-Identifier: MIT
#pragma once
// The rule for run ids, which names of agents follow, too. Private.

#include "triage/result.hpp"

#include <string_view>

namespace triage::inline v0_1::detail {

// As check_run_id(); what: whose rule it is, for the error ("run id").
[[nodiscard]] Result<void> check_id(std::string_view what, std::string_view id);

}  // namespace triage::inline v0_1::detail
