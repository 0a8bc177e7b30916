// SPDX-License-Identifier: MIT
#pragma once
// A guard that adds up the risks named by a table of words.

#include "triage/guard.hpp"

#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// One row: what a step says that makes it risky.
struct RiskRule {
  enum class Where : std::uint8_t {
    tool,   // In the tool's name, or in the action if there is none.
    input,  // In the keys and texts of tool_input.
    any,    // In either of them.
  };
  std::string name{};  // For people, and unique.
  Where where = Where::any;
  // All of them must be found there, as whole words in any order: names are split at everything
  // that is no letter or digit, and where the case changes, so "deleteUser", "delete_user" and
  // "DELETE-USER" all hold the word "delete", and "undeleted" does not. Lower case; not empty.
  std::vector<std::string> words{};
  double risk = 0.0;  // 0 to 1.
};

struct RiskRules {
  std::vector<RiskRule> rules{};
  double ask_at = 0.5;   // From this risk on somebody is asked …
  double deny_at = 0.9;  // … and from this one on the step is denied. 0 < ask_at <= deny_at.
};

// Irreversible, paying, publishing and executing words, and those of secrets.
[[nodiscard]] const RiskRules& default_risk_rules();

// The risk of a step is 1 − Π (1 − risk) over the rules that fit it. Texts in tool_input that hold
// JSON are read as JSON. Reads at most 256 KiB of a step; one that is longer is asked about.
// Rules that make no sense make every step denied, with the problem as its reason.
[[nodiscard]] std::shared_ptr<const StepGuard> risk_guard(RiskRules rules = default_risk_rules());

}  // namespace triage::inline v0_1
