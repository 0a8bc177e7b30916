// SPDX-License-Identifier: MIT
#pragma once
// Reads experiment files.

#include "triage/lab/experiment_file.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// YAML if this build supports it, else JSON. Policy files are relative to the file's folder.
// Errors: Errc::invalid_argument, one line per problem: the file, the line for YAML, the key's
// path, its value and what is allowed; those of read_text_file. files: gets the names of the files
// that were read.
[[nodiscard]] Result<lab::ScriptedExperiment> read_experiment_file(
    const std::string& path, std::vector<std::string>* files = nullptr);

}  // namespace triage::inline v0_1::cli
