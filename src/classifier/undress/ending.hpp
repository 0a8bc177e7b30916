// SPDX-License-Identifier: MIT
#pragma once
// How a long text ends: a program's output says last what ended it. Private.

#include <array>
#include <string_view>

namespace triage::inline v0_1::detail {

// The last meaningful line of a long text, and its last few lines; empty if the text has only a few
// lines.
[[nodiscard]] std::array<std::string_view, 2> endings_of(std::string_view text) noexcept;

}  // namespace triage::inline v0_1::detail
