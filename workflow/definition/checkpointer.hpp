// SPDX-License-Identifier: MIT
#pragma once
// Checkpoint policies: which applies to which executor, and applying them in a run.

#include "plan.hpp"
#include "triage/attempt.hpp"
#include "triage/workflow/events.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The policies of a workflow, and which of them applies to each executor.
struct Policies {
  static constexpr std::size_t off = static_cast<std::size_t>(-1);
  struct One {
    CheckpointPolicy policy{};
    std::string owner{};  // For messages: `workflow "w"`.
  };
  std::vector<One> all{};              // The first applies to the whole workflow.
  std::vector<std::size_t> of_node{};  // Index into `all`, or off.
};

// of_run: replaces the workflow's own. Errors: Errc::invalid_argument for a trigger that can never
// occur there.
[[nodiscard]] Result<Policies> policies_of(const Plan& plan, Schedule schedule,
                                           const std::optional<CheckpointPolicy>& of_run);

// Whether max_checkpoints counts it.
[[nodiscard]] bool is_automatic(const WorkflowCheckpoint& one);

// One attempt's checkpoints. Thread-safety: all members may be called from several threads at once.
class Checkpointer {
 public:
  // store: null if nothing is stored; then nothing happens here.
  Checkpointer(const Plan& plan, const Policies& policies, Attempt& attempt, Clock& clock,
               CheckpointStore* store, WorkflowObserver observer);

  // Something was recorded since the last checkpoint: steps or bytes of results.
  void recorded(std::size_t node, std::size_t steps, std::size_t bytes);
  // A trigger occurred in a delivery.
  void happened(CheckpointTrigger trigger, std::size_t node, int occurrence);
  // Before anything runs. Made whatever the policy.
  void entry();
  // A trigger of the whole run occurred.
  void happened(CheckpointTrigger trigger);
  void superstep_ended(int superstep, const std::vector<std::size_t>& called);
  // A failed hook or store kept something from being saved.
  void failed(std::size_t node, int occurrence, Error error);
  void tell(const WorkflowEvent& event) const;
  // Whether a policy depends on the size of results.
  [[nodiscard]] bool counts_bytes() const noexcept { return counts_bytes_; }

 private:
  struct Since {
    std::uint64_t saves = 0;  // Checkpoints that had been made then.
    std::size_t steps = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Since& since(std::size_t policy);
  [[nodiscard]] bool due(std::size_t policy, CheckpointTrigger trigger);
  std::optional<WorkflowCheckpoint> save(const std::string& label, WorkflowEvent about,
                                         bool soon = false);  // Stored with what comes next.
  void find_kept();
  void keep_few(const CheckpointInfo& made);
  void forget_oldest(std::size_t most);

  const Plan& plan_;
  const Policies& policies_;
  Attempt& attempt_;
  Clock& clock_;
  CheckpointStore* const store_;
  bool counts_bytes_ = false;
  const WorkflowObserver observer_;
  std::mutex mutex_{};
  std::vector<Since> since_;  // By policy, since the last checkpoint; under mutex_.
  std::uint64_t saves_ = 0;   // Under mutex_, like the next two.
  TimePoint last_save_;       // Or the beginning.
  std::atomic<std::uint64_t> records_{1};
  std::uint64_t saved_{0};                      // Of records_, at the last checkpoint.
  std::optional<WorkflowCheckpoint> newest_{};  // Under mutex_.
  // Only the newest automatic checkpoints stay.
  std::mutex keeping_{};               // Taken before mutex_.
  bool bounded_ = false;               // Under keeping_, like the next ones.
  std::size_t slack_ = 0;              // So many more may be there before they are removed.
  std::deque<CheckpointInfo> kept_{};  // Those that may go, oldest first; see find_kept().
  bool found_ = false;
  std::size_t made_ = 0;  // Since the journal was compacted.
  std::size_t most_ = 0;  // With so many it is compacted again.
};

}  // namespace triage::inline v0_1::workflow::detail
