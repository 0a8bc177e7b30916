// SPDX-License-Identifier: MIT
#pragma once
// The three ways to stop: return the failure, wait for a decision, give up.

#include "triage/policy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// ESCALATE with this message; empty: one that names the failure's type, step and text.
[[nodiscard]] Strategy escalate(std::string message = {});

struct SuspendOptions {
  std::string message{};  // For the person who decides. Empty: one that names the failure.
  std::optional<WallTime> until{};             // Continue then without a decision; empty: never.
  std::vector<std::string> allowed_actions{};  // RecoveryAction::Kind names that decide() accepts,
                                               // without duplicates; empty: all.
  std::optional<Duration> expires_after{};     // How long the token is valid; empty: for ever.
};

// SUSPEND: the run waits for a decision, possibly beyond this process.
[[nodiscard]] Strategy suspend(SuspendOptions options = {});

// ABORT with this reason; empty: the failure type.
[[nodiscard]] Strategy abort_run(std::string reason = {});

}  // namespace triage::inline v0_1
