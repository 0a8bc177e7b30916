// SPDX-License-Identifier: MIT
#pragma once
// An experiment's report as tables for people.

#include "triage/lab/experiment.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// A row for each condition, then a row for each difference.
[[nodiscard]] std::string experiment_tables(const lab::ExperimentReport& report);

}  // namespace triage::inline v0_1::cli
