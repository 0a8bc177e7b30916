// SPDX-License-Identifier: MIT
#pragma once
// From a program that shows a difference to a short one that shows one, too.

#include "program.hpp"

namespace triage::campaign {

[[nodiscard]] Program shrink(Program program);

}  // namespace triage::campaign
