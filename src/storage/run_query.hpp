// SPDX-License-Identifier: MIT
#pragma once
// Answers a RunQuery for stores that keep no index of their runs.

#include "triage/checkpoint_store.hpp"

#include <cstddef>
#include <vector>

namespace triage::inline v0_1::detail {

// Whether a query asks for this run; its limit is not looked at.
[[nodiscard]] bool fits(const RunInfo& run, const RunQuery& query) noexcept;

// Sorts runs as listings have them, and keeps the first `limit`. 0: no limit.
[[nodiscard]] std::vector<RunInfo> newest_first(std::vector<RunInfo> runs, std::size_t limit);

}  // namespace triage::inline v0_1::detail
