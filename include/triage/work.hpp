// SPDX-License-Identifier: MIT
#pragma once
// Working off what lies in a store: see TriageAgent::work().

#include "triage/agent_options.hpp"
#include "triage/clock.hpp"

#include <cstdint>

namespace triage::inline v0_1 {

struct WorkOptions {
  bool accept_changed = false;  // Go on although name, version, policy or contract differ.
  // With which runs are gone on with; run_id and label are ignored. Its stop_token cancels the runs
  // that are at work, which nobody takes up by himself then; that of work() lets them end.
  RunOptions run{};
  // How long a worker that found nothing waits before it looks again. 1 ms to 1 h.
  Duration poll{1'000};
};

struct WorkDone {
  std::uint64_t finished = 0;  // Runs that gave a value.
  std::uint64_t ended = 0;     // Runs that came to another end, or wait again.
  std::uint64_t refused = 0;   // Runs that could not be taken up, such as those of a changed agent.
};

}  // namespace triage::inline v0_1
