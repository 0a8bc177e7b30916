// SPDX-License-Identifier: MIT
#pragma once
// Quotes of what a program said when it failed.

#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// The line that says why: the last one that is neither empty nor indented nor what interpreters
// append to their messages (frames of a stack, their own version). "" for an empty text.
[[nodiscard]] std::string_view telling_line(std::string_view text);

// All of a text of at most `longest` characters, otherwise its telling line, cut if need be.
[[nodiscard]] std::string quote(std::string_view text, std::size_t longest);

}  // namespace triage::inline v0_1::cli
