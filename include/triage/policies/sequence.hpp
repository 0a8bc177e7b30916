// SPDX-License-Identifier: MIT
#pragma once
// Strategies composed of strategies: one after another, or one as the alternative of another.

#include "triage/policy.hpp"

#include <vector>

namespace triage::inline v0_1 {

// The n-th strategy decides the n-th failure of a type in a run; failures of other types do not
// count. After the last: ESCALATE. At least one strategy. The position is the limit: a member that
// counts attempts is asked as if it had one left, so its predecessors' failures never exhaust it.
[[nodiscard]] Strategy sequence(std::vector<Strategy> strategies);

// Asks `primary`; if the kind of its action is in `kinds`, uses the action of `alternative`
// instead. At least one kind. By default: "if primary gives up, do this".
[[nodiscard]] Strategy chain(Strategy primary, Strategy alternative,
                             std::vector<RecoveryAction::Kind> kinds = {
                                 RecoveryAction::Kind::escalate});

}  // namespace triage::inline v0_1
