// SPDX-License-Identifier: MIT
#pragma once
// An agent's contract in JSON. What a contract does not say is not checked, so no member that is
// not read is accepted; of a tool, those that MCP and the APIs of models have beside it are.

#include "triage/contract.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// Null gives an empty contract. Errors: Errc::invalid_argument, with the path, the value and what
// is allowed.
[[nodiscard]] Result<AgentContract> read_contract(const Json& given);

// Parses the contract of a program, which has no result. Errors: Errc::invalid_argument.
[[nodiscard]] Result<AgentContract> read_contract_text(const std::string& text);

}  // namespace triage::inline v0_1::cli
