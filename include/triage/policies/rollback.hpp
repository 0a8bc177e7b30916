// SPDX-License-Identifier: MIT
#pragma once
// Again from an earlier checkpoint.

#include "triage/policies/backoff.hpp"
#include "triage/policy.hpp"

#include <optional>
#include <string>

namespace triage::inline v0_1 {

// With none of the first four set, the target is the last good checkpoint, and every further
// rollback of a run that would meet a used target goes one further back. At most one may be set.
struct RollbackOptions {
  std::string label{};       // The newest checkpoint with this label; 1 to 256 bytes.
  std::string checkpoint{};  // This checkpoint id, RUN@SEQUENCE.
  bool latest = false;       // The newest checkpoint, even at the failure.
  int back = 0;              // This many checkpoints before the newest one; 1 or more, 0: not set.
  bool or_start = false;     // With nothing left to restore: start over instead of escalating.
  std::string hint{};        // Told to the next attempt.
  // Waits before it rolls back, and escalates, as retry_with_backoff() with these options does:
  // {.latest = true, .or_start = true, .backoff = BackoffOptions{}} waits for the other side and
  // goes on where the attempt stood. Its own hint stays empty. Empty: at once.
  std::optional<BackoffOptions> backoff{};
};

// ROLLBACK. Without a backoff it sets no limit of its own: the default target runs out of
// checkpoints by itself, the others end at the run's limits.
[[nodiscard]] Strategy rollback(RollbackOptions options = {});

}  // namespace triage::inline v0_1
