// SPDX-License-Identifier: MIT
#pragma once
// From a program that shows a difference to a short one that shows the same kind of difference.

#include "program.hpp"

#include <string>

namespace triage::campaign {

[[nodiscard]] Program shrink(Program program);
// What two differences of one kind have in common: what was seen, without its numbers.
[[nodiscard]] std::string kind_of(const std::string& difference);

}  // namespace triage::campaign
