// SPDX-License-Identifier: MIT
#pragma once
// Secrets that stand for a decision, and fingerprints of texts.

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// 256 random bits in hexadecimal.
[[nodiscard]] std::string make_token();
// 256 bits in hexadecimal; nobody finds the text from it.
[[nodiscard]] std::string hash_of(std::string_view text);

}  // namespace triage::inline v0_1::detail
