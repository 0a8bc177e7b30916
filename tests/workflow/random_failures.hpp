// SPDX-License-Identifier: MIT
#pragma once
// A random workflow whose executors fail and ask, in processes that die.

#include <cstddef>
#include <random>
#include <string>

namespace triage::test {

struct MendedRun {
  std::size_t ends = 0;  // Of the run, of what crashes have left of it, and of its branches.
  std::string wrong{};   // The difference from a run that nothing has disturbed; empty: none.
};

// Lets executors fail and ask in several goes, then in none; and again from any record at which a
// process may have died, from checkpoints, and in branches. All must end as an undisturbed run.
[[nodiscard]] MendedRun random_failures(std::mt19937& rng);

}  // namespace triage::test
