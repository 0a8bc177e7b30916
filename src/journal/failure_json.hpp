// SPDX-License-Identifier: MIT
#pragma once
// Reads a classified failure from its record.

#include "triage/json.hpp"
#include "triage/policy.hpp"

namespace triage::inline v0_1::detail {

// Reads classification, texts, notes and gate refusal from the body of a `failure_classified`. A
// field that is missing or of another type counts as absent; null changes nothing.
void read_failure(const Json& body, FailureContext& context);

}  // namespace triage::inline v0_1::detail
