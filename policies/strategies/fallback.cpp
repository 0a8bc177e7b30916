// SPDX-License-Identifier: MIT
#include "triage/policies/fallback.hpp"

#include "describe.hpp"
#include "triage/json.hpp"

namespace triage::inline v0_1 {

Strategy fallback(nlohmann::json value) {
  detail::StrategyBuilder builder("fallback");
  builder.option("value", show(value));
  if (const auto checked = check_json(value, "value"); !checked) {
    builder.problem(checked.error().detail);
  }
  RecoveryAction action = RecoveryAction::fallback(std::move(value));
  return builder.build([action = std::move(action)](const FailureContext&) { return action; });
}

}  // namespace triage::inline v0_1
