// SPDX-License-Identifier: MIT
#pragma once
// Text in which %XX stands for a byte, as in URLs. Private.

#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// What becomes of a "%" without two hexadecimal digits behind it.
enum class Malformed : bool { keep, refuse };

// Empty only for what is refused.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text,
                                                         Malformed malformed);

}  // namespace triage::inline v0_1::detail
