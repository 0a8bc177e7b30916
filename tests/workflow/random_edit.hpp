// SPDX-License-Identifier: MIT
#pragma once
// A random task graph, of which one output is edited.

#include <cstddef>
#include <random>
#include <string>

namespace triage::test {

struct EditedRun {
  std::size_t rerun = 0;  // Tasks that ran again.
  std::string wrong{};    // What is not as a brute-force oracle says; empty: nothing.
};

// Runs the graph, forks it with the edit, and compares which tasks ran, and what all gave.
[[nodiscard]] EditedRun random_edit(std::mt19937& rng);

}  // namespace triage::test
