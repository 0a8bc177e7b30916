// SPDX-License-Identifier: MIT
#pragma once
// The clauses about claiming orphaned runs.

#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {

[[nodiscard]] Clauses orphan_clauses();

}  // namespace triage::inline v0_1::testing::kit
