// SPDX-License-Identifier: MIT
#pragma once
// One function for each kind of clothing. Private to this room.
//
// Each takes off its kind where it finds it, and says whether it did. Text that only looks a little
// like it stays. None leaves a text without letters.

#include "classifier/undress/undress.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

bool remove_escapes(std::string& text);
// "first line\n  second line" on one line, its ends written out.
bool unfold_written_lines(std::string& text);
bool unwrap_envelope(std::string& text);
bool unwrap_markup(std::string& text);
bool unfold_trace(std::string& text);
bool cut_log_heads(std::string& text);
bool cut_log_tails(std::string& text);
bool cut_progress(std::string& text);
bool join_wrapped_lines(std::string& text);

// "Error", "Task failed", "an unexpected error occurred in step 4": says that there was a failure,
// not which.
[[nodiscard]] bool says_little(std::string_view line);
// The length of the exception's name that the line begins with, if a colon or the end follows.
[[nodiscard]] std::size_t exception_name_at_start(std::string_view line);

// The lines of a text, without their ends.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
// The lines that say something, or all if none does; each once.
[[nodiscard]] std::string telling_lines(const std::vector<std::string_view>& lines);

}  // namespace triage::inline v0_1::detail
