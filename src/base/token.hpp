// SPDX-License-Identifier: MIT
#pragma once
// Secret tokens that authorise a decision.

#include <string>

namespace triage::inline v0_1::detail {

// 256 random bits in hexadecimal.
[[nodiscard]] std::string make_token();

}  // namespace triage::inline v0_1::detail
