// SPDX-License-Identifier: MIT
#pragma once
// Looking at stored runs of workflows without their program: nothing is called, nothing is changed.

#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow {

// A delivery that has finished.
struct StoredDelivery {
  std::string executor{};
  int occurrence = 0;
  int superstep = 0;
  std::vector<Json> sent{};     // Along edges.
  std::vector<Json> outputs{};  // Of the run.
  std::string failed{};         // Why it failed, if something was sent instead.
  bool edited = false;          // In a branch: a person has changed what it gave.
};

// A run as it stood at a checkpoint.
struct CheckpointView {
  CheckpointId id{};
  std::string workflow{};                    // Its id.
  Json inputs{};                             // With what a branch has changed.
  Json parts{};                              // The fingerprint that it went on with last.
  std::vector<StoredDelivery> deliveries{};  // By executor and occurrence.
  std::vector<PendingRequest> pending{};
  std::map<std::string, Json> answers{};  // By request.
  std::vector<std::string> expired{};     // Requests that nobody answered in time.
};

// "RUN@SEQUENCE", or "RUN" for where it stands. No hook, handler or reducer is called. Errors:
// Errc::not_found; Errc::conflict, it is no run of a workflow; the store's.
[[nodiscard]] Result<CheckpointView> inspect(CheckpointStore& store, std::string_view checkpoint);

// What the store knows to have happened, from record `from` on; see WorkflowEvent. Errors: the
// same.
[[nodiscard]] Result<std::vector<WorkflowEvent>> events(CheckpointStore& store, const RunId& run,
                                                        Sequence from = 1);

enum class NodeStatus : std::uint8_t {
  done,         // It ran here, and has finished.
  skipped,      // What it gave in the run that this one branched off from was taken.
  edited,       // The same, as a person has changed it.
  invalidated,  // It had finished there, and ran again here.
  failed,
};
[[nodiscard]] std::string_view to_string(NodeStatus status) noexcept;

// A run, and what became of its executors in it.
struct BranchView {
  RunInfo run{};
  std::string parent{};  // The checkpoint that it branched off at; empty for the first.
  std::string author{};
  std::vector<CheckpointInfo> checkpoints{};
  std::map<std::string, NodeStatus> nodes{};  // By executor; of several deliveries the worst.
};

// A run, the one it comes from, and all their branches: each behind its parent, siblings from the
// oldest. Reads every run of the workflow in the store. Errors: as of inspect().
[[nodiscard]] Result<std::vector<BranchView>> branches(CheckpointStore& store, const RunId& run);

}  // namespace triage::inline v0_1::workflow
