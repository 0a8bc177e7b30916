// SPDX-License-Identifier: MIT
#pragma once
// One function for each kind of wrapping. Private to this room.
//
// Each removes its kind of wrapping and says whether it found any. Text that only resembles it is
// left alone. None leaves a text without letters.

#include "classifier/undress/undress.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

bool remove_escapes(std::string& text);
// "first line\n  second line": a text whose line breaks are written out.
bool unfold_written_lines(std::string& text);
bool unwrap_envelope(std::string& text);
bool unwrap_markup(std::string& text);
bool unfold_trace(std::string& text);
// Names that are codes or exceptions are part of the message, not of the head.
bool cut_log_heads(std::string& text, IsCode is_code);
bool cut_log_tails(std::string& text);
bool cut_progress(std::string& text);
bool join_wrapped_lines(std::string& text);

// "Error", "Task failed", "an unexpected error occurred in step 4": says that something failed, but
// not how.
[[nodiscard]] bool says_little(std::string_view line);
// "RateLimitError", "app.ToolNotFound": ends as exceptions' names do.
[[nodiscard]] bool is_exception_name(std::string_view name);
// The length of the exception name at the start of the line, if a colon or the end follows.
[[nodiscard]] std::size_t exception_name_at_start(std::string_view line);

// The lines of a text, without line breaks.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
// The meaningful lines, or all if there are none; without duplicates.
[[nodiscard]] std::string telling_lines(const std::vector<std::string_view>& lines);

}  // namespace triage::inline v0_1::detail
