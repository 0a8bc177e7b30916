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
  std::string label{};    // Empty for automatic checkpoints.
  WallTime time{};        // When its last record was made; informative only.
  int attempt = 0;        // The attempt that made it, from 1.
};

// A restored position: its state and trajectory.
struct Checkpoint {
  CheckpointInfo info{};
  State state{};
  Trajectory trajectory{};
};

}  // namespace triage::inline v0_1
