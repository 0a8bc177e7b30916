// SPDX-License-Identifier: MIT
#pragma once
// Adapters as documents: the keys are in docs/agents.md.

#include "supervise/adapters/adapter.hpp"
#include "triage/result.hpp"

#include <string_view>

namespace triage::inline v0_1::supervise {

// Errors: Errc::invalid_argument, naming the path of the key and what is allowed.
[[nodiscard]] Result<Adapter> adapter_from_json(const Json& document);

// Parses text to JSON, or YAML if this build supports it. Injected because YAML is optional.
// Errors: Errc::invalid_argument.
using ReadDocument = Result<Json> (*)(std::string_view text);

}  // namespace triage::inline v0_1::supervise
