// SPDX-License-Identifier: MIT
#pragma once
// Tells lines that were written for another program from failures. Those would be answered
// `unknown`, and nobody would know why.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// Errors: Errc::invalid_argument if an object has fields, but none that is read; names those.
[[nodiscard]] Result<void> check_format(const Json& line);

// A sentence for the steps and one for the contract where they have fields, but none that is read.
[[nodiscard]] std::vector<std::string> remarks_on_format(const Json& line);

}  // namespace triage::inline v0_1::cli
