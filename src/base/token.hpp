// SPDX-License-Identifier: MIT
#pragma once
// Secrets that stand for a decision.

#include <string>

namespace triage::inline v0_1::detail {

// 256 random bits in hexadecimal.
[[nodiscard]] std::string make_token();

}  // namespace triage::inline v0_1::detail
