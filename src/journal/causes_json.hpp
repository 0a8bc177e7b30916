// SPDX-License-Identifier: MIT
#pragma once
// The causes of a failure as JSON: in records of the journal and in rows of corrections. Private.

#include "triage/failure.hpp"
#include "triage/json.hpp"

#include <vector>

namespace triage::inline v0_1::detail {

// The innermost four, which say most; of each text the first 4,000 bytes. What has neither a type
// nor a text is left out. Error codes are not kept: nothing is learned from them.
[[nodiscard]] Json causes_json(const std::vector<Cause>& causes);
// Reads what causes_json made, of more causes the innermost four; what is no cause is passed over.
[[nodiscard]] std::vector<Cause> parse_causes(const Json& json);

}  // namespace triage::inline v0_1::detail
