// SPDX-License-Identifier: MIT
#pragma once
// Inspects stored runs of workflows without their program: calls nothing, changes nothing.

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
  std::optional<Json>
      task_output{};     // What a task of a TaskGraph gave; its messages say how it ended.
  std::string failed{};  // Why it failed, if something was sent instead.
  bool edited = false;   // In a branch: a person changed its result.
};

// A fan-in that still waited when its run was at its end.
struct WaitingJoin {
  std::string executor{};                // To whom it leads.
  std::vector<std::string> from{};       // Executors whose messages it has.
  std::vector<std::string> waits_for{};  // Those whose messages it lacks.
};

// A run at a checkpoint.
struct CheckpointView {
  CheckpointId id{};
  std::string workflow{};                    // Its id.
  Json inputs{};                             // Including a branch's changes.
  Json parts{};                              // The fingerprint it last continued with.
  std::vector<StoredDelivery> deliveries{};  // By executor and occurrence.
  std::vector<PendingRequest> pending{};
  std::map<std::string, Json> answers{};  // By request.
  std::vector<std::string> expired{};     // Requests that nobody answered in time.
  std::optional<Stopped> stopped{};       // If it was, and has not gone on since.
  std::vector<WaitingJoin> waiting_joins{};
};

// "RUN@SEQUENCE", or "RUN" for its current position. Calls no hook, handler or reducer. Errors:
// Errc::not_found; Errc::conflict if it is not a workflow's run; the store's.
[[nodiscard]] Result<CheckpointView> inspect(CheckpointStore& store, std::string_view checkpoint);

// The recorded events from record `from` on; see WorkflowEvent. Errors: the same.
[[nodiscard]] Result<std::vector<WorkflowEvent>> events(CheckpointStore& store, const RunId& run,
                                                        Sequence from = 1);

enum class NodeStatus : std::uint8_t {
  done,         // It ran here and finished.
  skipped,      // Its result from the original run was used.
  edited,       // The same, as edited by a person.
  invalidated,  // It had finished in the original run and ran again here.
  failed,
};
[[nodiscard]] std::string_view to_string(NodeStatus status) noexcept;

// A run with the status of its executors.
struct BranchView {
  RunInfo run{};
  std::string parent{};  // The checkpoint it branched off at; empty for the first run.
  std::string author{};
  std::vector<WorkflowCheckpoint> checkpoints{};
  std::map<std::string, NodeStatus> nodes{};  // By executor; for several deliveries, the worst.
};

// A run, its origin and all their branches: each after its parent, siblings oldest first. Reads
// every run of the workflow in the store. Errors: as of inspect().
[[nodiscard]] Result<std::vector<BranchView>> branches(CheckpointStore& store, const RunId& run);

// What happens to a finished delivery in a branch. The conditions of edges are not stored: one that
// runs, or may run, does so if the branch still comes to it.
enum class Rerun : std::uint8_t {
  kept,     // It reads nothing edited, or is the result of an earlier edit.
  edited,   // Its result is edited: it is not called.
  runs,     // It read something edited, or failed.
  may_run,  // It read the result of one that runs again: it runs if that result differs.
};
[[nodiscard]] std::string_view to_string(Rerun how) noexcept;

struct RerunView {
  std::string executor{};
  int occurrence = 1;
  Rerun how = Rerun::kept;
  std::string why{};  // For display.
};

// What a branch from there with these edits would run again, in superstep order. Executors that had
// not finished there run if the branch comes to them, and are not listed. Calls and changes
// nothing. Errors: as of WorkflowRun::fork.
[[nodiscard]] Result<std::vector<RerunView>> preview_fork(CheckpointStore& store,
                                                          std::string_view checkpoint,
                                                          const Fork& edits);

// Creates a branch without running it: any program with the workflow can, by resume() of the run
// `branch`. Errors: as of WorkflowRun::fork.
[[nodiscard]] Result<void> branch_off(std::shared_ptr<CheckpointStore> store,
                                      std::string_view checkpoint, const RunId& branch,
                                      const Fork& edits);

}  // namespace triage::inline v0_1::workflow
