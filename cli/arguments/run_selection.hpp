// SPDX-License-Identifier: MIT
#pragma once
// Which of a store's runs a command lists.

#include "triage/checkpoint_store.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

struct RunSelection {
  std::string status{};  // As people call it; empty: any.
  std::string agent{};
  std::string label{};
  std::size_t limit = 100;  // 0: all.
  bool all = false;         // Also those that workflows make of their own.
  bool by_update = false;   // The newest by their last record, not by their start.
};

// Whether only runs of a certain kind are wanted.
[[nodiscard]] bool is_narrow(const RunSelection& selection) noexcept;

// Declares --status, --agent, --label, --sort, --limit and --all.
void declare_selection(CLI::App& arguments, RunSelection& selection);

struct SelectedRuns {
  std::vector<RunInfo> runs{};  // Newest first.
  bool more = false;            // The limit has left some out.
};
// Errors: Errc::invalid_argument for an unknown status; the store's.
[[nodiscard]] Result<SelectedRuns> select_runs(CheckpointStore& store,
                                               const RunSelection& selection);

}  // namespace triage::inline v0_1::cli
