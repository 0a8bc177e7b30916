// SPDX-License-Identifier: MIT
#pragma once
// Reduces a program that shows a difference to a short one with the same kind of difference.

#include "program.hpp"

#include <string>

namespace triage::campaign {

[[nodiscard]] Program shrink(Program program);
// The common part of two differences of one kind: the observation without its numbers.
[[nodiscard]] std::string kind_of(const std::string& difference);

}  // namespace triage::campaign
