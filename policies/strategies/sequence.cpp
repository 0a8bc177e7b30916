// SPDX-License-Identifier: MIT
#include "triage/policies/sequence.hpp"

#include "describe.hpp"
#include "triage/detail/joined.hpp"

#include <algorithm>
#include <limits>

namespace triage::inline v0_1 {
namespace {

// The problem of a part, under the part's key: "strategies[1]" + "max_attempts is 0; …".
void check_part(const Strategy& part, const std::string& key, detail::StrategyBuilder& builder) {
  if (!part) builder.problem(key + " is empty; allowed is a strategy");
  if (!part.problem().empty()) builder.problem(key + "." + part.problem());
}

int one_more(int count) { return count < std::numeric_limits<int>::max() ? count + 1 : count; }

// The context without the oldest failures of its type, so that one attempt is left.
FailureContext with_one_attempt_left(FailureContext context, int max_attempts) {
  int surplus = context.occurrence() - (max_attempts - 1);
  const FailureType type = context.type();
  std::erase_if(context.history,
                [&](const HistoryEntry& entry) { return entry.type == type && surplus-- > 0; });
  return context;
}

RecoveryAction decide(const std::vector<Strategy>& strategies, const FailureContext& context) {
  const auto place = static_cast<std::size_t>(context.previous(context.type()));
  if (place >= strategies.size()) {
    return detail::exhausted("sequence", context, "number of strategies",
                             static_cast<int>(strategies.size()));
  }
  const Strategy& chosen = strategies[place];
  const int most = chosen.max_attempts();
  if (most < 2 || context.occurrence() < most) return chosen(context);
  return chosen(with_one_attempt_left(context, most));
}

}  // namespace

Strategy sequence(std::vector<Strategy> strategies) {
  detail::StrategyBuilder builder("sequence");
  if (strategies.empty()) {
    builder.problem("strategies is empty; allowed is a list of at least one strategy");
  }
  // One failure per member, and the attempt after the last of them.
  int max_attempts = one_more(static_cast<int>(strategies.size()));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    builder.option("", strategies[i].description());
    check_part(strategies[i], "strategies[" + std::to_string(i) + "]", builder);
  }
  return builder.build([strategies = std::move(strategies)](
                           const FailureContext& context) { return decide(strategies, context); },
                       max_attempts);
}

Strategy chain(Strategy primary, Strategy alternative, std::vector<RecoveryAction::Kind> kinds) {
  // Their order has no effect, so it must not change the description.
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<std::string> names;
  for (const auto kind : kinds) names.emplace_back(to_string(kind));

  detail::StrategyBuilder builder("chain");
  builder.option("primary", primary.description())
      .option("fallback", alternative.description())
      .option("kinds", "[" + detail::joined(names) + "]");
  check_part(primary, "primary", builder);
  check_part(alternative, "fallback", builder);
  if (kinds.empty()) builder.problem("kinds is empty; allowed is at least one kind of action");

  // The alternative is first asked at the failure at which the primary gives up.
  const int own = primary.max_attempts() > 0 ? one_more(primary.max_attempts()) : 0;
  const int max_attempts = std::max(own, alternative.max_attempts());
  return builder.build(
      [primary = std::move(primary), alternative = std::move(alternative),
       kinds = std::move(kinds)](const FailureContext& context) {
        RecoveryAction action = primary(context);
        const bool given_up = std::find(kinds.begin(), kinds.end(), action.kind) != kinds.end();
        return given_up ? alternative(context) : action;
      },
      max_attempts);
}

}  // namespace triage::inline v0_1
