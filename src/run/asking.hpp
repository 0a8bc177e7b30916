// SPDX-License-Identifier: MIT
#pragma once
// What a suspended run asks, and what is known about a nested run that waits.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/run_id.hpp"
#include "triage/suspension.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

struct Asking {
  std::optional<ProposedStep> step{};   // The step that a guard asked about …
  bool by_guard = false;                // … in the new suspension, not an earlier one.
  std::unique_ptr<Suspension> shown{};  // The new suspension, without its token.
};

// What an attempt waits for.
struct Pause {
  WallTime until{};
  std::string_view signal{};
  std::string place{};                // For a sleep until a time.
  std::optional<TimePoint> latest{};  // If the wall clock is set back, the sleep ends here.
};

// A wait for which the attempt gives way: sleep_until, wait …
struct AskedWait {
  WallTime until{};
  std::string signal{};
  std::string place{};
  WallTime::duration length{0};
  std::string message{};
  bool beside = false;  // On a thread of a TaskGroup.
};

// A nested run that was suspended in this attempt.
struct WaitingChild {
  std::shared_ptr<const Suspension> suspension{};
  std::string task{};  // Hash of its task; empty: unknown.
  bool held = false;   // Another process continues it; a decision about it still holds.
};

struct WaitingChildren {
  [[nodiscard]] const std::shared_ptr<const Suspension>& shown() const {
    return all.back().suspension;
  }
  std::vector<WaitingChild> all{};  // The last one is shown to whoever decides.
  Sequence at = 0;                  // The newest record when the last one was suspended.
  bool asks = false;                // The run's suspension is for one of them.
};

}  // namespace triage::inline v0_1::detail
