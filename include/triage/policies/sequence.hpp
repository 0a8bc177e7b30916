// SPDX-License-Identifier: MIT
#pragma once
// Strategies made of strategies: one after another, and one behind another.

#include "triage/policy.hpp"

#include <vector>

namespace triage::inline v0_1 {

// The n-th failure of a type in a run is decided by the n-th strategy; failures of other types do
// not count. Past the end: ESCALATE. At least one strategy.
// The place in the list is the limit: a member that counts attempts is never exhausted here because
// of failures that were its predecessors' (it is asked as if one attempt were left to it).
[[nodiscard]] Strategy sequence(std::vector<Strategy> strategies);

// Asks `primary`; if its action is of one of `kinds`, asks `alternative` and takes its action
// instead. At least one kind. The default reads: "when primary gives up, do this".
[[nodiscard]] Strategy chain(Strategy primary, Strategy alternative,
                             std::vector<RecoveryAction::Kind> kinds = {
                                 RecoveryAction::Kind::escalate});

}  // namespace triage::inline v0_1
