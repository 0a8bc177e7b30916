// SPDX-License-Identifier: MIT
#pragma once
// What a supervised run tells while it runs: one line a recovery, on standard error.

#include "triage/observer.hpp"

#include <memory>

namespace triage::inline v0_1::cli {

enum class Telling { sentences, json, nothing };

// One line for each failure and what is done about it, and for a run that goes on.
[[nodiscard]] std::shared_ptr<Observer> recovery_lines(Telling how);

}  // namespace triage::inline v0_1::cli
