// SPDX-License-Identifier: MIT
#pragma once
// The causes of a failure as JSON, used in journal records and in corrections. Private.

#include "triage/failure.hpp"
#include "triage/json.hpp"

#include <vector>

namespace triage::inline v0_1::detail {

// Keeps the innermost four causes, the most specific ones, and the first 4,000 bytes of each text;
// drops causes with neither type nor text. Error codes are not kept: nothing is learned from them.
[[nodiscard]] Json causes_json(const std::vector<Cause>& causes);
// Reads what causes_json() wrote: the innermost four causes; anything malformed is skipped.
[[nodiscard]] std::vector<Cause> parse_causes(const Json& json);

}  // namespace triage::inline v0_1::detail
