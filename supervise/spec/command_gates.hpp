// SPDX-License-Identifier: MIT
#pragma once
// A policy document's gates for the attempts of one command.

#include "triage/gate.hpp"

#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// All supervised runs share one agent's name, by which gates identify what they guard. These gates
// are given the command's name instead, so that one program's failures do not block another.
[[nodiscard]] std::vector<std::shared_ptr<Gate>> gates_of_command(
    const std::vector<std::shared_ptr<Gate>>& gates, const std::string& command);

}  // namespace triage::inline v0_1::supervise
