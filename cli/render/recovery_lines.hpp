// SPDX-License-Identifier: MIT
#pragma once
// A supervised run's messages while it runs: one line per recovery, on standard error.

#include "triage/observer.hpp"

#include <memory>

namespace triage::inline v0_1::cli {

enum class Telling { sentences, json, nothing };

// One line for each failure and its recovery, and for a run that continues.
[[nodiscard]] std::shared_ptr<Observer> recovery_lines(Telling how);

}  // namespace triage::inline v0_1::cli
