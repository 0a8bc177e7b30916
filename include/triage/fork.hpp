// SPDX-License-Identifier: MIT
#pragma once
// Branching off from runs.

#include "triage/agent_options.hpp"
#include "triage/json.hpp"

#include <map>
#include <optional>
#include <string>

namespace triage::inline v0_1 {

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
