// SPDX-License-Identifier: MIT
#pragma once
// KEY=VALUE arguments.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// A JSON value, or the text itself if it is not JSON.
[[nodiscard]] Json value_of(const std::string& text);
// Errors: Errc::invalid_argument for a malformed pair.
[[nodiscard]] Result<Json> object_of(const std::vector<std::string>& pairs);

}  // namespace triage::inline v0_1::cli
