// SPDX-License-Identifier: MIT
#pragma once
// A checkpoint: a position of a journal that can be restored.

#include "triage/run_id.hpp"
#include "triage/state.hpp"
#include "triage/trajectory.hpp"

#include <cstddef>
#include <string>

namespace triage::inline v0_1 {

// What is known of a checkpoint without restoring it.
struct CheckpointInfo {
  CheckpointId id{};
  std::size_t steps = 0;  // Length of the trajectory there.
  std::string label{};    // Empty for automatic checkpoints.
  WallTime time{};        // When its last record was made; for people only.
  int attempt = 0;        // 1-based number of the attempt that made it.
};

// A restored position: state and trajectory as they were there.
struct Checkpoint {
  CheckpointInfo info{};
  State state{};
  Trajectory trajectory{};
};

}  // namespace triage::inline v0_1
