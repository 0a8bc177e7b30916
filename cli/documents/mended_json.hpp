// SPDX-License-Identifier: MIT
#pragma once
// JSON from programs that do not take care of their texts' characters.

#include "triage/json.hpp"

#include <string_view>

namespace triage::inline v0_1::cli {

// Bytes that are not UTF-8 and lone surrogates become U+FFFD. Returns a discarded value if it is
// not JSON otherwise. The caller checks first how deep the text is nested.
[[nodiscard]] Json parse_mended(std::string_view text);

}  // namespace triage::inline v0_1::cli
