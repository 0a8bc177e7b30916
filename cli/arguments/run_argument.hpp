// SPDX-License-Identifier: MIT
#pragma once
// Finds the run that a command-line argument names, which may be shortened as tables show it.

#include "triage/checkpoint_store.hpp"

#include <string>

namespace triage::inline v0_1::cli {

// Expands a shortened run or checkpoint, "01KAQW…8ZK3XJ" or "01KAQW…8ZK3XJ@12"; returns other texts
// unchanged. Errors: Errc::not_found; Errc::invalid_argument if several runs match.
[[nodiscard]] Result<std::string> in_full(CheckpointStore& store, const std::string& text);

// The run. Errors: those of in_full; Errc::not_found, saying how to find the right name.
[[nodiscard]] Result<RunInfo> run_info(CheckpointStore& store, const std::string& text);
// Everything stored of it. Errors: likewise.
[[nodiscard]] Result<JournalReading> read_run(CheckpointStore& store, const std::string& text);

}  // namespace triage::inline v0_1::cli
