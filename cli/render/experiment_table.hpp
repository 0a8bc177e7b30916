// SPDX-License-Identifier: MIT
#pragma once
// An experiment's report as text tables.

#include "triage/lab/experiment.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// A row per condition, followed by a row per difference.
[[nodiscard]] std::string experiment_tables(const lab::ExperimentReport& report);

}  // namespace triage::inline v0_1::cli
