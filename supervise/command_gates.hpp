// SPDX-License-Identifier: MIT
#pragma once
// The gates of a policy document, in front of the attempts of one command.

#include "triage/gate.hpp"

#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

// All supervised runs have one agent's name, by which gates tell what they guard: these are told
// the command's instead, so that one program's failures close no other one's way.
[[nodiscard]] std::vector<std::shared_ptr<Gate>> gates_of_command(
    const std::vector<std::shared_ptr<Gate>>& gates, const std::string& command);

}  // namespace triage::inline v0_1::supervise
