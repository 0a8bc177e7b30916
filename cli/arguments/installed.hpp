// SPDX-License-Identifier: MIT
#pragma once
// Files that are installed with the command.

#include <string>
#include <string_view>

namespace triage::inline v0_1::cli {

// share/triage/NAME beside this program's folder. It may not exist.
[[nodiscard]] std::string installed(std::string_view name);

}  // namespace triage::inline v0_1::cli
