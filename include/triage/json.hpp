// SPDX-License-Identifier: MIT
#pragma once
// The library's JSON type, and limits on accepted values.

#include "triage/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

using Json = nlohmann::json;

// Deeper values are refused: nlohmann's encoders recurse once per level. Arrays and objects are
// levels, the values inside are not. Applies to everything recorded, wherever a record puts it:
// what is accepted can be read back.
inline constexpr int max_json_depth = 256;

enum class NonFinite : bool { refused, allowed };

// Checks a value to be stored: depth at most max_json_depth, no binary or discarded value, and no
// NaN or infinity where they are refused. `what` names the value in the error's text. O(size),
// without recursion. Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_json(const Json& value, std::string_view what,
                                      NonFinite non_finite = NonFinite::refused);

// The value as JSON text. Shows invalid UTF-8 as \xNN, and what JSON cannot express as a text:
// "NaN", "Infinity", "-Infinity", "<binary value>", and "<nested too deep to be shown>" beyond 64
// levels more than max_json_depth. Always valid JSON; never throws on content. indent < 0: one
// line.
[[nodiscard]] std::string show(const Json& value, int indent = -1);
// Printable text: escapes control characters (including U+0080 to U+009F) and invalid UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace triage::inline v0_1
