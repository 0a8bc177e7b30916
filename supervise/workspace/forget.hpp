// SPDX-License-Identifier: MIT
#pragma once
// Removing the files that runs have kept, once the runs themselves are removed.

#include "triage/result.hpp"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace triage::inline v0_1::supervise {

struct Forgetting {
  std::string shadows{};            // As in WorkspaceOptions.
  std::string store{};              // Likewise.
  std::vector<std::string> runs{};  // That the store had, and has no more.
  // Whether that is so: asked again while no run can begin.
  std::function<bool(const std::string& run)> is_gone{};
  // How long to wait for checkpoints and restorations under way.
  std::chrono::milliseconds patience{60'000};
};

struct Forgotten {
  std::set<std::string> runs{};   // Whose files are removed.
  std::vector<Error> problems{};  // One a repository: what is left there stays.
};

// Removes what only the given runs have kept. Left alone are the files of a run that another store
// may have, or whose restoration was cut off, and what no run refers to in a repository in which an
// earlier version has kept files: they may be needed.
[[nodiscard]] Forgotten forget_files(const Forgetting& options);

}  // namespace triage::inline v0_1::supervise
