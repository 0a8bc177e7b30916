// SPDX-License-Identifier: MIT
#pragma once
// The JSON type of the library, and the limits on what it accepts.

#include "triage/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

using Json = nlohmann::json;

// Values nested deeper are refused: nlohmann's encoders recurse once a level. Arrays and objects
// are levels, what they hold is not. The same holds for everything that is recorded, wherever a
// record puts it: what is accepted can be read back.
inline constexpr int max_json_depth = 256;

enum class NonFinite : bool { refused, allowed };

// Checks what will be stored: depth at most max_json_depth, no binary or discarded value, and no
// NaN or infinity where they are refused. `what` names the value in the error's text. O(size),
// without recursion. Errors: Errc::invalid_argument.
[[nodiscard]] Result<void> check_json(const Json& value, std::string_view what,
                                      NonFinite non_finite = NonFinite::refused);

// The value as text. Bytes that are not valid UTF-8 are shown as \xNN, and what JSON has no text
// for as a text in its place: "NaN", "Infinity", "-Infinity", "<binary value>", and "<nested too
// deep to be shown>" beyond 64 levels more than max_json_depth. Valid JSON; never throws on
// content. indent < 0 gives one line.
[[nodiscard]] std::string show(const Json& value, int indent = -1);
// Text made printable: control characters (U+0080 to U+009F too) and bytes that are not valid UTF-8
// become escapes.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace triage::inline v0_1
