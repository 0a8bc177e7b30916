// SPDX-License-Identifier: MIT
#pragma once
// Continues from an earlier checkpoint.

#include "triage/policies/backoff.hpp"
#include "triage/policy.hpp"

#include <optional>
#include <string>

namespace triage::inline v0_1 {

// At most one of the first four may be set. If none is, the target is the last good checkpoint, and
// a further rollback of the run that would restore a used target goes one further back.
struct RollbackOptions {
  std::string label{};       // The newest checkpoint with this label; 1 to 256 bytes.
  std::string checkpoint{};  // This checkpoint id, RUN@SEQUENCE.
  bool latest = false;       // The newest checkpoint, even at the failure itself.
  int back = 0;              // `back` checkpoints before the newest; 1 or more, 0: not set.
  bool or_start = false;     // If nothing is left to restore, start over instead of escalating.
  std::string hint{};        // For the next attempt.
  // Waits before rolling back, and escalates, like retry_with_backoff() with these options; empty:
  // no wait. {.latest = true, .or_start = true, .backoff = BackoffOptions{}} waits for the other
  // side and continues where the attempt stood. Leave backoff->hint empty.
  std::optional<BackoffOptions> backoff{};
};

// ROLLBACK. Without a backoff it sets no limit: the default target runs out of checkpoints, the
// other targets end at the run's limits.
[[nodiscard]] Strategy rollback(RollbackOptions options = {});

}  // namespace triage::inline v0_1
