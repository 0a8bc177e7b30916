// SPDX-License-Identifier: MIT
#pragma once
// Checkpoints of triage-agent and journals, each as the other.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"
#include "triage/reference_store.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// The run that a checkpoint belongs to, under a name that is allowed here.
[[nodiscard]] RunId run_of_reference(const ReferenceCheckpoint& checkpoint);

// Makes the journal of one run from its checkpoints, oldest first.
class ReferenceRun {
 public:
  ReferenceRun(RunId id, const std::string& reference_run, const std::string& agent,
               const std::optional<Json>& task);

  void add(ReferenceCheckpoint checkpoint);
  // Its end: nobody knows how it ended, so it is cancelled. Afterwards add() must not be called.
  void end();
  [[nodiscard]] const RunInfo& info() const noexcept { return info_; }
  [[nodiscard]] const std::vector<Record>& records() const noexcept { return records_; }

 private:
  void record(RecordKind kind, Json body);
  void record_step(const Json& step, std::size_t index);
  void begin_attempt();
  void replace_all(const ReferenceCheckpoint& checkpoint);
  void change_state(const Json& state);

  RunInfo info_{};
  std::string reference_run_{};
  std::optional<Json> task_{};
  WallTime time_{};  // Of the checkpoint that is added.
  Json state_ = Json::object();
  Json steps_ = Json::array();
  int attempts_ = 0;
  std::vector<Record> records_{};
};

// Calls `take` with the checkpoints of a run, oldest first, where it is now last; only the newest
// if that is not 0. Returns how many. Errors: Errc::corrupt, those of `take`.
[[nodiscard]] Result<std::size_t> reference_of_run(
    const JournalReading& reading, std::size_t newest,
    const std::function<Result<void>(const ReferenceCheckpoint&)>& take);

}  // namespace triage::inline v0_1::detail
