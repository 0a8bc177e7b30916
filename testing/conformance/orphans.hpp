// SPDX-License-Identifier: MIT
#pragma once
// The clauses about claiming what nobody works on any more.

#include "trial.hpp"

namespace triage::inline v0_1::testing::kit {

[[nodiscard]] Clauses orphan_clauses();

}  // namespace triage::inline v0_1::testing::kit
