// SPDX-License-Identifier: MIT
#pragma once
// Adapters as documents: docs/agents.md has the keys.

#include "supervise/adapters/adapter.hpp"
#include "triage/result.hpp"

#include <string_view>

namespace triage::inline v0_1::supervise {

// Errors: Errc::invalid_argument, naming the path of the key and what is allowed.
[[nodiscard]] Result<Adapter> adapter_from_json(const Json& document);

// Text to JSON, YAML too if this build can. Injected, since YAML is optional. Errors:
// Errc::invalid_argument.
using ReadDocument = Result<Json> (*)(std::string_view text);

}  // namespace triage::inline v0_1::supervise
