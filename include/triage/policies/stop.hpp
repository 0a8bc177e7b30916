// SPDX-License-Identifier: MIT
#pragma once
// The three ways to stop: return the failure, wait for a decision, give up.

#include "triage/detail/later.hpp"
#include "triage/policy.hpp"

#include <chrono>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// ESCALATE with this message; empty: one that names the failure's type, step and text.
[[nodiscard]] Strategy escalate(std::string message = {});

// A calendar time of any resolution, rounded up to milliseconds; empty: none.
class UntilTime : public std::optional<WallTime> {
 public:
  UntilTime() = default;
  UntilTime(std::nullopt_t /*none*/) {}    // NOLINT(google-explicit-constructor)
  UntilTime(std::optional<WallTime> when)  // NOLINT(google-explicit-constructor)
      : optional(when) {}
  template <class Resolution>
  UntilTime(std::chrono::sys_time<Resolution> when)  // NOLINT(google-explicit-constructor)
      : optional(detail::wall_time_of(when)) {}
};

// Kinds of actions, given as RecoveryAction::Kind or by their names; kept as names.
class ActionNames : public std::vector<std::string> {
 public:
  ActionNames() = default;
  ActionNames(std::vector<std::string> names)  // NOLINT(google-explicit-constructor)
      : vector(std::move(names)) {}
  ActionNames(std::initializer_list<std::string> names) : vector(names) {}
  ActionNames(std::initializer_list<RecoveryAction::Kind> kinds) {
    for (const RecoveryAction::Kind kind : kinds) emplace_back(to_string(kind));
  }
};

struct SuspendOptions {
  std::string message{};          // For the person who decides. Empty: one that names the failure.
  UntilTime until{};              // Continue then without a decision; empty: never.
  ActionNames allowed_actions{};  // That decide() accepts, each once; empty: all.
  std::optional<Duration> expires_after{};  // How long the token is valid; empty: for ever.
};

// SUSPEND: the run waits for a decision, possibly beyond this process.
[[nodiscard]] Strategy suspend(SuspendOptions options = {});

// ABORT with this reason; empty: the failure type.
[[nodiscard]] Strategy abort_run(std::string reason = {});

}  // namespace triage::inline v0_1
