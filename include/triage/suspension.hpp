// SPDX-License-Identifier: MIT
#pragma once
// Going on with runs that wait, and branching off from runs that do not.

#include "triage/agent_options.hpp"
#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1 {

struct DecideOptions {
  std::string who{};            // Who decided; recorded with the decision. At most 256 bytes.
  bool accept_changed = false;  // Go on although name, version, policy or contract differ.
  // run_id, label and auto_checkpoint are ignored. What is not set stays as it was for the run:
  // its deadline and its limits. store: null finds the run's own one, if that is
  // still open.
  RunOptions run{};
};

// A suspended run that may go on without a decision.
struct DueRun {
  RunId run{};
  WallTime until{};           // When it becomes, or became, due.
  std::string message{};      // Of the suspension.
  std::string signal{};       // What it waits for, if it waits for a signal.
  Sequence suspended_at = 0;  // 0: it waits in this process, and no store knows it.
};

struct DueOptions {
  bool accept_changed = false;  // Go on although name, version, policy or contract differ.
  RunOptions run{};             // run_id and label are ignored.
};

// What became of a run that resume_due() took up, or why it could not.
template <class Value>
struct ResumedRun {
  RunId run{};
  Result<Value> result;
};

struct ForkOptions {
  std::string label{};          // Of the branch; at most 256 bytes. One that is in use is refused.
  Json state{};                 // An object: keys that the branch sets over the checkpoint's state.
  std::string who{};            // Who forks; recorded. At most 256 bytes.
  bool accept_changed = false;  // Go on although name, version, policy or contract differ.
  RunOptions run{};             // run_id: the branch's; empty: made by us. label is ignored.
};

}  // namespace triage::inline v0_1
