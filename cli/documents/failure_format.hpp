// SPDX-License-Identifier: MIT
#pragma once
// Recognises lines in another program's format, which would otherwise be classified `unknown`
// without an explanation.

#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// Errors: Errc::invalid_argument if the object has none of the known fields; names them.
[[nodiscard]] Result<void> check_format(const Json& line);

// A remark each for steps and for a contract that have fields, but none that is known.
[[nodiscard]] std::vector<std::string> remarks_on_format(const Json& line);

// Whether the contract has fields, but none that is known.
[[nodiscard]] bool is_foreign_contract(const Json& contract);

}  // namespace triage::inline v0_1::cli
