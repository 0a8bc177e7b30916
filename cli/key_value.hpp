// SPDX-License-Identifier: MIT
#pragma once
// KEY=VALUE on the command line.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// A value of JSON, or the text itself if it is none.
[[nodiscard]] Json value_of(const std::string& text);
// Errors: Errc::invalid_argument for a pair of another form.
[[nodiscard]] Result<Json> object_of(const std::vector<std::string>& pairs);

}  // namespace triage::inline v0_1::cli
