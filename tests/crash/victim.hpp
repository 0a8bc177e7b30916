// SPDX-License-Identifier: MIT
#pragma once
// The process that is killed: a scripted agent with steps, state, labels, failures and effects.

#include <cstdint>
#include <string>

namespace triage::test {

struct VictimOptions {
  std::string database{};
  std::string side_log{};           // What the outside world saw and was promised, line by line.
  std::string mode = "background";  // Or immediate, deferred.
  std::uint64_t kill_at = 0;        // KillingStore's record; 0: no kill.
  bool after_commit = false;
  bool resume = false;
};

// Returns the process's exit status: 0 if the run has its result.
int run_victim(const VictimOptions& options);

}  // namespace triage::test
