// SPDX-License-Identifier: MIT
#pragma once
// What processes that died left in the folder of a JSON-file store: it belongs to no run.

#include "triage/record.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// Removes unfinished files that nobody has written to for an hour. What cannot be removed stays.
void remove_left_over(const std::string& folder, WallTime now);
// Appends a sentence for each of them, and for each file of a run whose first one is gone.
[[nodiscard]] Result<void> name_left_over(const std::string& folder, WallTime now,
                                          std::vector<std::string>& wrong);

}  // namespace triage::inline v0_1::detail
