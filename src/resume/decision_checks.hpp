// SPDX-License-Identifier: MIT
#pragma once
// Checks whether a decision about a suspended run can be executed.

#include "run/run.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Errors of all functions, unless stated otherwise: Errc::invalid_argument. A refused decision does
// not use up the token.
[[nodiscard]] Result<void> check_who(std::string_view who);
[[nodiscard]] Result<void> check_decision(const RecoveryAction& action, const std::string& who);
[[nodiscard]] Result<void> check_allowed(RecoveryAction::Kind action,
                                         const std::vector<std::string>& allowed);
// Errors: Errc::conflict, saying what can be done now.
[[nodiscard]] Result<void> check_not_expired(
    const std::optional<WallTime>& expires, Clock& clock,
    std::string_view what_now = "resume_run goes on without a decision");
// Refuses a rollback that leads nowhere, and a fallback that does not fit. action: what the run
// itself will do, which differs from what was decided if that is for a nested run.
[[nodiscard]] Result<void> check_fits(const Journal& journal, const RecoveryAction& action,
                                      const Result<void>& fallback_fits = outcome::success());
// Refuses an attempt that would begin after the deadline.
[[nodiscard]] Result<void> check_in_time(const RecoveryAction& action,
                                         const std::optional<WallTime>& deadline, WallTime now);
// Both checks for a decision about a nested run, as far as the records of this store tell: whether
// a fallback fits only its agent knows.
[[nodiscard]] Result<void> check_for_child(CheckpointStore& store, const RunId& child,
                                           const RecoveryAction& action, Clock& clock);
// Checks strict_idempotency.
[[nodiscard]] Result<void> check_safe(const AgentCore& core, RunData& data,
                                      const RecoveryAction& action);

}  // namespace triage::inline v0_1::detail
