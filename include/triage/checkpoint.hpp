// SPDX-License-Identifier: MIT
#pragma once
// A checkpoint: a restorable position in a journal.

#include "triage/run_id.hpp"
#include "triage/state.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <string>

namespace triage::inline v0_1 {

// What is known about a checkpoint without restoring it.
struct CheckpointInfo {
  CheckpointId id{};
  std::size_t steps = 0;  // Length of the trajectory there.
  std::string label{};    // A user's; empty for automatic checkpoints.
  WallTime time{};        // When its last record was made; informative only.
  int attempt = 0;        // The attempt that made it, from 1.
  // Why the library made an automatic one for itself, such as a workflow's
  // "task_completed/fetch/1"; empty for all others. At most 249 bytes.
  std::string trigger{};
};

// A restored position: its state and trajectory.
struct Checkpoint {
  CheckpointInfo info{};
  State state{};
  Trajectory trajectory{};
};

}  // namespace triage::inline v0_1
