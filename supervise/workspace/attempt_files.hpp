// SPDX-License-Identifier: MIT
#pragma once
// The files of a run's workspace throughout its attempts.

#include "supervise/workspace/workspace.hpp"
#include "triage/attempt.hpp"
#include "triage/checkpoint_store.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>

namespace triage::inline v0_1::supervise {

// One attempt. Each step's metadata records the files after it ("triage/files"; what it was before,
// unless an object, is its "value"), and each named checkpoint names a state in the workspace's
// repository. Does nothing without a workspace.
class AttemptFiles {
 public:
  struct Options {
    WorkspaceOptions workspace{};  // No folder: none.
    CheckpointStore* store = nullptr;
    std::function<void(const std::string&)> on_trouble{};  // Messages for the operator.
  };

  // attempt: must outlive this object.
  AttemptFiles(Attempt& attempt, Options options)
      : attempt_(attempt), options_(std::move(options)) {}

  // Before the program runs: after a rollback, also if no program has run since, and in a branch,
  // restores the files of the located checkpoint. Errors: a failure of the attempt if it is the
  // workspace's; the store's. Then nothing may run.
  [[nodiscard]] Result<void> begin();
  // Call immediately before the program runs: until now, what changes in the workspace is others'
  // doing; and if it does not run after all.
  void program_runs();
  void program_did_not_run();
  // Call before a step is recorded.
  void note_step(Step& step);
  // Call before a named checkpoint, and after it.
  void begin_checkpoint(const std::string& label);
  void note_checkpoint(const CheckpointId& checkpoint);
  // Call when the program has ended. is_ours: no other supervisor has taken the run over.
  void end(bool is_ours);

 private:
  [[nodiscard]] Result<void> restore(const std::string& checkpoint);
  [[nodiscard]] Error failed(const Error& error) const;
  // The run that this one branched off from; empty if it is no branch, or nobody knows.
  [[nodiscard]] std::string origin() const;
  [[nodiscard]] std::optional<FilesId> keep();
  [[nodiscard]] bool is_stopped() const;
  [[nodiscard]] Result<std::optional<FilesId>> located(const std::string& checkpoint) const;
  [[nodiscard]] Result<std::string> pending_rollback() const;
  [[nodiscard]] Result<std::optional<FilesId>> files_of(const Record& record,
                                                        const std::string& run) const;
  void tell_trouble(const Result<void>& noted) const;
  void set_at_rest(bool at_rest);
  void keep_lease_meanwhile();
  void tell_conflicts(const Restored& restored) const;
  void tell_left_out(const std::set<std::string>& files, const std::string& why, std::size_t& told);
  void trouble(const std::string& text) const {
    if (options_.on_trouble) options_.on_trouble(text);
  }

  Attempt& attempt_;
  Options options_;
  std::optional<Workspace> files_{};
  bool begun_ = false;
  std::optional<FilesId> of_checkpoint_{};  // Of the one that is begun; empty if they are not kept.
  std::string origin_{};  // The run whose files this attempt has restored, if it is another one.
  std::size_t told_too_large_ = 0;
  std::size_t told_unreadable_ = 0;
};

}  // namespace triage::inline v0_1::supervise
