// SPDX-License-Identifier: MIT
#pragma once
// How a long text ends: a program's output says last what ended it. Private.

#include "evidence/findings.hpp"

#include <array>
#include <string_view>

namespace triage::inline v0_1::detail {

struct EndingPart {
  std::string_view text{};  // Empty: there is none.
  TextEnding of = TextEnding::last_line;
};

// The last line that says something, and the last few lines with it; the latter only of a long
// text, none of a single line.
[[nodiscard]] std::array<EndingPart, 2> endings_of(std::string_view text) noexcept;

}  // namespace triage::inline v0_1::detail
