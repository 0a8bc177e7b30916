// SPDX-License-Identifier: MIT
#pragma once
// What can be done after `triage workflow run` has ended without a result.

#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"
#include "workflow_file.hpp"

#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

// The command as it was given.
struct GivenRun {
  std::string file{};
  std::string store{};  // Empty: the default one.
  std::string redact{};
  std::vector<std::string> inputs{};  // KEY=VALUE each.
  RunId run{};
};

// That command again, without answers.
[[nodiscard]] std::string command_of(const GivenRun& given);

// Whether its process has died again and again: only `--revive` goes on with it.
[[nodiscard]] bool is_poisoned(CheckpointStore& store, const RunId& run);

// A sentence with the command that continues the run, or with what the run needs instead; empty if
// nothing was begun. pending: what the run asks.
[[nodiscard]] std::string how_to_go_on(const GivenRun& given, const WorkflowFile& file,
                                       const Error& error, CheckpointStore& store,
                                       const std::vector<workflow::PendingRequest>& pending);

}  // namespace triage::inline v0_1::cli
