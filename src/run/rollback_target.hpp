// SPDX-License-Identifier: MIT
#pragma once
// Where a rollback leads.

#include "triage/journal.hpp"
#include "triage/policy.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace triage::inline v0_1::detail {

// Index into journal.positions(); run: its id, which a journal without a store may lack. Empty,
// with the problem, if there is none; then RollbackTarget::or_start may still lead to the run's
// start.
[[nodiscard]] std::optional<std::size_t> find_position(const Journal& journal, const RunId& run,
                                                       const RollbackTarget& target,
                                                       std::string* problem);

}  // namespace triage::inline v0_1::detail
