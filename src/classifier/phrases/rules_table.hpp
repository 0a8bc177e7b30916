// SPDX-License-Identifier: MIT
#pragma once
// Reads the text of the rule table: columns, kinds, types and {{names}}, not yet the patterns.
// Private.

#include "classifier/phrases/rules.hpp"

namespace triage::inline v0_1::detail {

struct RuleRow {
  Rule rule{};
  std::string pattern{};
  std::string guard{};  // Empty: none.
};

// Errors: Errc::invalid_argument, naming the line.
[[nodiscard]] Result<std::vector<RuleRow>> read_rule_table(std::string_view table);

}  // namespace triage::inline v0_1::detail
