// SPDX-License-Identifier: MIT
#pragma once
// Reads adapters.

#include "supervise/adapters/find_adapter.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// JSON, or YAML if this build supports it. Errors: Errc::invalid_argument.
[[nodiscard]] Result<Json> read_adapter_text(std::string_view text);

// RunSpec::adapter for the argument of --adapter: a name, a file's text, or empty. Checks that it
// fits this program. Errors: Errc::not_found; Errc::invalid_argument.
[[nodiscard]] Result<std::string> adapter_of(const std::string& given, const std::string& program);

}  // namespace triage::inline v0_1::cli
