// SPDX-License-Identifier: MIT
#pragma once
// Looking at stored runs of workflows without their program: nothing is called, nothing is changed.

#include "triage/checkpoint_store.hpp"
#include "triage/workflow/run.hpp"

#include <map>
#include <memory>
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
  std::optional<Stopped> stopped{};       // If it was, and has not gone on since.
};

// "RUN@SEQUENCE", or "RUN" for where it stands. No hook, handler or reducer is called. Errors:
// Errc::not_found; Errc::conflict, it is not a run of a workflow; the store's.
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

// What a branch makes of a delivery that had finished.
enum class Rerun : std::uint8_t {
  kept,     // It reads nothing that is edited.
  edited,   // What it gave is edited: it is not called.
  runs,     // It has read something that is edited.
  may_run,  // It has read what one of those gave: it runs if that comes out differently.
};
[[nodiscard]] std::string_view to_string(Rerun how) noexcept;

struct RerunView {
  std::string executor{};
  int occurrence = 1;
  Rerun how = Rerun::kept;
  std::string why{};  // For people.
};

// What a branch that begins there with these edits would run again, in the order of the supersteps.
// Executors that had not finished there run in any case and are not listed. Nothing is called or
// changed. Errors: as of WorkflowRun::fork.
[[nodiscard]] Result<std::vector<RerunView>> preview_fork(CheckpointStore& store,
                                                          std::string_view checkpoint,
                                                          const Fork& edits);

// Makes a branch without running it: any program that has the workflow does so, by resume() of the
// run `branch`. Errors: as of WorkflowRun::fork.
[[nodiscard]] Result<void> branch_off(std::shared_ptr<CheckpointStore> store,
                                      std::string_view checkpoint, const RunId& branch,
                                      const Fork& edits);

}  // namespace triage::inline v0_1::workflow
