// SPDX-License-Identifier: MIT
#pragma once
// A random task graph in which one output is edited.

#include <cstddef>
#include <random>
#include <string>

namespace triage::test {

struct EditedRun {
  std::size_t rerun = 0;  // Tasks that ran again.
  std::string wrong{};    // The difference from a brute-force oracle; empty: none.
};

// Runs the graph, forks it with the edit, and compares which tasks ran and what all returned.
[[nodiscard]] EditedRun random_edit(std::mt19937& rng);

}  // namespace triage::test
