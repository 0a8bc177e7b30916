// SPDX-License-Identifier: MIT
#pragma once
// The files of a run's workspace in the course of its attempts.

#include "supervise/workspace/workspace.hpp"
#include "triage/attempt.hpp"
#include "triage/checkpoint_store.hpp"

#include <functional>
#include <optional>
#include <string>

namespace triage::inline v0_1::supervise {

// One attempt. Every step says in its metadata how the files were behind it ("files"), every label
// has a name of its own in the workspace's repository. Without a workspace nothing happens.
class AttemptFiles {
 public:
  struct Options {
    WorkspaceOptions workspace{};  // No folder: no workspace.
    CheckpointStore* store = nullptr;
    std::function<void(const std::string&)> on_trouble{};  // Sentences for the operator.
  };

  // attempt: outlives this object.
  AttemptFiles(Attempt& attempt, Options options)
      : attempt_(attempt), options_(std::move(options)) {}

  // Before the program runs: after a rollback, and in a branch, the files come back as they were at
  // the located checkpoint. Errors: those of the workspace; nothing must run then.
  [[nodiscard]] Result<void> begin();
  // Before a step is recorded.
  void note_step(Step& step);
  // Behind a checkpoint with a name.
  void note_label(const std::string& label);
  // When the program has ended.
  void end();

 private:
  [[nodiscard]] std::optional<FilesId> keep();
  [[nodiscard]] Result<std::optional<FilesId>> located() const;
  [[nodiscard]] Result<std::string> label_of(const std::string& checkpoint) const;
  void trouble(const std::string& text) const {
    if (options_.on_trouble) options_.on_trouble(text);
  }

  Attempt& attempt_;
  Options options_;
  std::optional<Workspace> files_{};
  std::size_t told_too_large_ = 0;
};

}  // namespace triage::inline v0_1::supervise
