// SPDX-License-Identifier: MIT
#pragma once
// What a policy document may hold beside the policy.

#include "triage/policy.hpp"
#include "triage/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <string_view>

namespace triage::inline v0_1 {
class StrategyRegistry;
}  // namespace triage::inline v0_1

namespace triage::inline v0_1::detail {

inline constexpr std::array<std::string_view, 3> document_sections = {"gates", "budget",
                                                                      "attempt_timeout"};

// The policy of a document. with_sections: it stood in a document that may have sections, which
// have been taken out.
[[nodiscard]] Result<FailurePolicy> policy_in(const nlohmann::json& document,
                                              const StrategyRegistry& registry, bool with_sections);

}  // namespace triage::inline v0_1::detail
