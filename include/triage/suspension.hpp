// SPDX-License-Identifier: MIT
#pragma once
// Continuing runs that wait, and branching off from runs.

#include "triage/agent_options.hpp"
#include "triage/json.hpp"

#include <map>
#include <string>

namespace triage::inline v0_1 {

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

struct ForkOptions {
  std::string label{};          // The branch's; at most 256 bytes. One in use is refused.
  Json state{};                 // An object: keys set over the checkpoint's state.
  std::string who{};            // Who forks; recorded. At most 256 bytes.
  bool accept_changed = false;  // Fork even if name, version, policy or contract differ.
  std::optional<Json> task{};   // The branch's; empty: that of its origin.
  std::string hint{};           // Recovery::hint of its first attempt; empty: where it comes from.
  // Results given to its effects by key without carrying them out, whatever their arguments; they
  // take precedence over those that the origin recorded.
  std::map<std::string, Json> answers{};
  // A what-if: effects that are neither recorded nor answered fail with Errc::conflict.
  bool refuse_new_effects = false;
  RunOptions run{};  // run_id: the branch's; empty: generated. label is ignored.
};

}  // namespace triage::inline v0_1
