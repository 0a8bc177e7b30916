// SPDX-License-Identifier: MIT
#pragma once
// Reading JSON without changing what it says.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <optional>
#include <string_view>

namespace triage::inline v0_1::cli {

// Empty: the text is no JSON. Errors: Errc::invalid_argument if it would not come back as it was
// written: for a whole number of more than 64 bits, and a key that an object has twice.
[[nodiscard]] Result<std::optional<Json>> exact_json(std::string_view text);

}  // namespace triage::inline v0_1::cli
