// SPDX-License-Identifier: MIT
#pragma once
// The three ways to stop: hand the failure over, wait for a decision, give up.

#include "triage/policy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// ESCALATE with this message; empty: one that names the failure type, the step and what it said.
[[nodiscard]] Strategy escalate(std::string message = {});

struct SuspendOptions {
  std::string message{};            // For whoever decides. Empty: one that names the failure.
  std::optional<WallTime> until{};  // Go on then without a decision; empty: never.
  std::vector<std::string> allowed_actions{};  // Names of RecoveryAction::Kind that decide()
                                               // accepts, each once; empty: all.
  std::optional<Duration> expires_after{};     // How long the token can be used; empty: always.
};

// SUSPEND: the run waits, possibly beyond this process, until somebody decides.
[[nodiscard]] Strategy suspend(SuspendOptions options = {});

// ABORT for this reason; empty: the failure type.
[[nodiscard]] Strategy abort_run(std::string reason = {});

}  // namespace triage::inline v0_1
