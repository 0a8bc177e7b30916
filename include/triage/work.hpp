// SPDX-License-Identifier: MIT
#pragma once
// Workers: see TriageAgent::work().

#include "triage/agent_options.hpp"
#include "triage/clock.hpp"

#include <cstdint>

namespace triage::inline v0_1 {

struct WorkOptions {
  bool accept_changed = false;  // Continue even if name, version, policy or contract differ.
  // Options for continuing runs; run_id and label are ignored. Its stop_token cancels the runs in
  // progress, which are then not resumed by themselves; the stop token of work() lets them end.
  RunOptions run{};
  // How long a worker that found nothing waits before it looks again. 1 ms to 1 h.
  Duration poll = std::chrono::seconds(1);
};

struct WorkDone {
  std::uint64_t finished = 0;  // Runs that returned a value.
  std::uint64_t ended = 0;     // Runs that ended otherwise, or wait again.
  std::uint64_t refused = 0;   // Runs that could not be continued: a changed agent's, for example.
};

}  // namespace triage::inline v0_1
