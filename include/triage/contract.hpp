// SPDX-License-Identifier: MIT
#pragma once
// What an agent promises about itself, so that breaking it can be seen without reading any text.

#include "triage/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

struct ToolContract {
  std::string name{};
  std::vector<std::string> aliases{};  // Other accepted names.
  std::string description{};           // For the hint.
};

struct AgentContract {
  std::vector<ToolContract> tools{};       // Empty: any tool may be called.
  std::vector<std::string> constraints{};  // Texts that must not appear in Step::llm_output.
  std::vector<std::string> subgoals{};     // Informative; handed to strategies.
  std::uint64_t context_limit = 0;         // Tokens; 0: none.

  [[nodiscard]] bool empty() const noexcept {
    return tools.empty() && constraints.empty() && subgoals.empty() && context_limit == 0;
  }
};

}  // namespace triage::inline v0_1
