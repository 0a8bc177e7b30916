// SPDX-License-Identifier: MIT
#pragma once
// Runs that wait, and continuing them.

#include "triage/agent_options.hpp"
#include "triage/clock.hpp"
#include "triage/guard.hpp"
#include "triage/json.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

// A waiting run, from error.suspension() of Errc::suspended.
struct Suspension {
  std::string token{};  // 256 random bits in hexadecimal. Its holder can decide, once.
  std::string run_id{};
  std::string message{};
  std::vector<std::string> allowed_actions{};
  std::optional<WallTime> until{};  // Then the run continues without a decision: see resume_due().
  std::optional<WallTime> expires{};  // From then on the token is refused.
  // What the decision is about; AgentOptions::redact can remove secrets.
  std::string agent{};                     // AgentOptions::name.
  Json task{};                             // Null if the task has neither JSON nor a text.
  std::optional<ProposedStep> proposed{};  // Set if a guard asks.
  // Set if the run waits for a nested one: that run, with its own token.
  std::shared_ptr<const Suspension> inner{};
};

struct DecideOptions {
  std::string who{};            // Who decided; recorded with the decision. At most 256 bytes.
  bool accept_changed = false;  // Continue even if name, version, policy or contract differ.
  // run_id, label and auto_checkpoint are ignored. Without a deadline or limits here, the run keeps
  // its own. store: null uses the run's own one, if it is still open.
  RunOptions run{};
};

// A suspended run that may continue without a decision.
struct DueRun {
  RunId run{};
  WallTime until{};           // When it becomes or became due.
  std::string message{};      // Of the suspension.
  std::string signal{};       // The signal it waits for, if any.
  Sequence suspended_at = 0;  // 0: it waits only in this process, in no store.
};

struct DueOptions {
  bool accept_changed = false;  // Continue even if name, version, policy or contract differ.
  RunOptions run{};             // run_id and label are ignored.
};

// The result of a run that resume_due() continued, or why it could not.
template <class Value>
struct ResumedRun {
  RunId run{};
  Result<Value> result;
};

}  // namespace triage::inline v0_1
