// SPDX-License-Identifier: MIT
#pragma once
// Experiment files as this build reads them.

#include "triage/lab/experiment_file.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// YAML where the build has it, else JSON. Policy files are looked for in the folder of the file.
// Errors: Errc::invalid_argument, one line for each problem: the file, the line if it is YAML, the
// path of the key, its value and what is allowed; those of read_text_file.
[[nodiscard]] Result<lab::ScriptedExperiment> read_experiment_file(const std::string& path);

}  // namespace triage::inline v0_1::cli
