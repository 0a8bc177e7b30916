// SPDX-License-Identifier: MIT
#pragma once
// Converts a correction to a line of its file and back. Private.

#include "triage/corrections.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// Without the newline. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string correction_line(const Correction& correction);
// Errors: Errc::invalid_argument, naming the problem and the allowed values.
[[nodiscard]] Result<Correction> parse_correction(std::string_view line);
// Errors: Errc::invalid_argument for an origin or a failure that nothing can be learned from.
[[nodiscard]] Result<void> check_correction(const Correction& correction);
// "Crawler (v2)" → "crawler-v2"; "agent" if nothing is left.
[[nodiscard]] std::string origin_name(std::string_view text);

}  // namespace triage::inline v0_1::detail
