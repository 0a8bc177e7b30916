// SPDX-License-Identifier: MIT
#include "triage/policies/replan.hpp"

#include "describe.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1 {
namespace {

int replans_of_this_type(const FailureContext& context) {
  return static_cast<int>(
      std::count_if(context.history.begin(), context.history.end(), [&](const auto& entry) {
        return entry.type == context.type() && entry.action == RecoveryAction::Kind::replan;
      }));
}

std::string stock_hint(const FailureContext& context) {
  std::string hint = "The last plan failed (" + std::string(to_string(context.type()));
  if (!context.classification.reason.empty()) hint += ", " + context.classification.reason;
  hint += "). ";
  // For a broken contract, the exact breach is known.
  const auto& evidence = context.classification.evidence;
  if (!evidence.empty() && evidence.front().source == "contract") {
    hint += evidence.front().detail + ". ";
  }
  return hint + "Make a new plan that avoids this.";
}

}  // namespace

Strategy replan(ReplanOptions options) {
  auto builder = detail::StrategyBuilder("replan")
                     .attempts("max_replans", options.max_replans, 0)
                     .text("hint", options.hint);
  const int max_replans = options.max_replans;
  const int max_attempts =
      max_replans < std::numeric_limits<int>::max() ? max_replans + 1 : max_replans;
  return builder.build(
      [options = std::move(options)](const FailureContext& context) {
        if (replans_of_this_type(context) >= options.max_replans) {
          return detail::exhausted("replan", context, "max_replans", options.max_replans);
        }
        return RecoveryAction::replan(options.hint.empty() ? stock_hint(context) : options.hint);
      },
      max_attempts);
}

}  // namespace triage::inline v0_1
