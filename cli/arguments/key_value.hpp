// SPDX-License-Identifier: MIT
#pragma once
// KEY=VALUE arguments.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// A JSON value, or the text itself if it is not JSON. Errors: those of exact_json().
[[nodiscard]] Result<Json> value_of(const std::string& text);
// option: the one whose values these are, for messages. Errors: likewise, and for a malformed pair,
// one that is not UTF-8, or a key that is given twice.
[[nodiscard]] Result<Json> object_of(std::string_view option,
                                     const std::vector<std::string>& pairs);

// The same the other way round: KEY=VALUE for each member of an object; none of what is no object.
[[nodiscard]] std::vector<std::string> pairs_of(const Json& object);

}  // namespace triage::inline v0_1::cli
