// SPDX-License-Identifier: MIT
#pragma once
// How a classified failure is stored and read back.

#include "triage/failure.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"

namespace triage::inline v0_1::detail {

// The body of a `failure_classified`.
[[nodiscard]] Json failure_fields(const FailureContext& context, const Failure& failure);
// Reads classification, texts, notes and gate refusal from it. A field that is missing or of
// another type counts as absent; null changes nothing.
void read_failure(const Json& body, FailureContext& context);
// What the classifier was told: texts, codes and causes. An error code is stored, but cannot be
// made again.
[[nodiscard]] Failure told_failure(const Json& body);

}  // namespace triage::inline v0_1::detail
