// SPDX-License-Identifier: MIT
#pragma once
// A classified failure, read back from its record.

#include "triage/json.hpp"
#include "triage/policy.hpp"

namespace triage::inline v0_1::detail {

// Classification, texts, notes and whether a gate refused, from the body of a `failure_classified`.
// What is not there, or has another type, counts as absent; null changes nothing.
void read_failure(const Json& body, FailureContext& context);

}  // namespace triage::inline v0_1::detail
