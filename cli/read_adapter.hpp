// SPDX-License-Identifier: MIT
#pragma once
// Adapters as this build reads them.

#include "supervise/adapters/find_adapter.hpp"

#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// JSON, and YAML where the build has it. Errors: Errc::invalid_argument.
[[nodiscard]] Result<Json> read_adapter_text(std::string_view text);

// What RunSpec::adapter is for this --adapter: a name, the text of a file, or nothing. Checks that
// it can be used with this program. Errors: Errc::not_found; Errc::invalid_argument.
[[nodiscard]] Result<std::string> adapter_of(const std::string& given, const std::string& program);

}  // namespace triage::inline v0_1::cli
