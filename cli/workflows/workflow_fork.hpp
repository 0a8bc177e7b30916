// SPDX-License-Identifier: MIT
#pragma once
// triage fork for a workflow's run: reports what would run again, and creates the branch.

#include "command_status.hpp"
#include "triage/checkpoint_store.hpp"

#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::cli {

struct WorkflowFork {
  std::string checkpoint{};
  RunId run{};          // The branch's id.
  std::string store{};  // As named by the caller; empty: the default one.
  std::string label{};
  std::vector<std::string> inputs{};   // KEY=VALUE each.
  std::vector<std::string> outputs{};  // EXECUTOR=VALUE, or EXECUTOR=@FILE.
  std::vector<std::string> set{};      // KEY=VALUE, of the shared state.
  bool dry_run = false;
  bool json = false;
};

[[nodiscard]] bool is_workflow_run(CheckpointStore& store, const std::string& checkpoint);
// Runs nothing of the workflow: `triage workflow run FILE --run BRANCH`, or the workflow's own
// program, continues the branch.
[[nodiscard]] ExitStatus fork_workflow(const std::shared_ptr<CheckpointStore>& store,
                                       const WorkflowFork& given);

}  // namespace triage::inline v0_1::cli
