// SPDX-License-Identifier: MIT
#pragma once
// A guard that combines the risks of words in a table.

#include "triage/guard.hpp"

#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// One rule: words in a step that make it risky.
struct RiskRule {
  enum class Where : std::uint8_t {
    tool,   // The tool's name, or the action if there is none.
    input,  // Keys and texts of tool_input.
    any,    // Either of them.
  };
  std::string name{};  // Unique; for people.
  Where where = Where::any;
  // All must occur, as whole words in any order. Names are split at characters that are no letter
  // or digit, and where the case changes: "deleteUser", "delete_user" and "DELETE-USER" contain the
  // word "delete", "undeleted" does not. Lower case; not empty.
  std::vector<std::string> words{};
  double risk = 0.0;  // 0 to 1.
};

struct RiskRules {
  std::vector<RiskRule> rules{};
  double ask_at = 0.5;   // From this risk on, asks …
  double deny_at = 0.9;  // … and from this one on, denies. 0 < ask_at <= deny_at.
};

// Words for irreversible acts, payments, publishing, execution and secrets.
[[nodiscard]] const RiskRules& default_risk_rules();

// The risk of a step is 1 − Π (1 − risk) over the matching rules. Texts in tool_input that hold
// JSON are parsed. Reads at most 256 KiB of a step; asks about longer ones. Invalid rules deny
// every step, with the problem as the reason.
[[nodiscard]] std::shared_ptr<const StepGuard> risk_guard(RiskRules rules = default_risk_rules());

}  // namespace triage::inline v0_1
