// SPDX-License-Identifier: MIT
#pragma once
// Codes written in a text: errno and gRPC names, SQLSTATE, exit statuses, signals, and providers'
// error codes. Private.

#include "evidence/codes.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The meaning of a symbolic code: "ECONNRESET", "DEADLINE_EXCEEDED", "context_length_exceeded".
[[nodiscard]] std::optional<CodeMeaning> named_code_meaning(std::string_view name) noexcept;
// By the first two characters, the class, and for some by all five. Source: ISO/IEC 9075 and the
// PostgreSQL documentation, appendix A.
[[nodiscard]] std::optional<CodeMeaning> sqlstate_meaning(std::string_view state) noexcept;
// A shell's exit statuses: 124 from `timeout`, 126, 127, and 128 + a signal's number.
[[nodiscard]] std::optional<CodeMeaning> exit_status_meaning(int status) noexcept;

struct TextCode {
  std::string_view kind{};   // "errno", "sqlstate", …: part of the evidence's source.
  std::string_view found{};  // Points into the text.
  CodeMeaning meaning{};
};

// The codes of a text's first and last window, each at most once. Linear.
void find_text_codes(std::string_view text, std::vector<TextCode>& codes);

}  // namespace triage::inline v0_1::detail
