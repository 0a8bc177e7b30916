// SPDX-License-Identifier: MIT
#pragma once
// The HTTP status that a text states. Private.

#include <optional>
#include <string_view>

namespace triage::inline v0_1::detail {

// "HTTP/1.1 401", "status code: 503", "Error code: 429": a number from 400 to 599 that the text
// itself calls a status, in the windows of the text. Empty if two of them differ: such a text tells
// a longer story.
[[nodiscard]] std::optional<int> stated_http_status(std::string_view text) noexcept;

}  // namespace triage::inline v0_1::detail
