// SPDX-License-Identifier: MIT
#pragma once
// The mark that a run's commands carry, and ending what a process that died has left of them.

#include "triage/checkpoint.hpp"
#include "triage/result.hpp"

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace triage::inline v0_1::cli {

// The same in every process that goes on with a run, and another one for a run of that name in
// another store. Thread-safety: may be called from several threads at once.
class CommandLineage {
 public:
  explicit CommandLineage(std::string store_place) : store_place_(std::move(store_place)) {}

  // The run's process had died when this one took the run over. What a run has left that suspended,
  // was paused or finished is meant to stay.
  void expect_leftovers(const RunId& run);

  // The value of supervise::lineage_variable for the next command of a run that this process holds.
  // If leftovers are expected, it ends what carries the mark already before the first of them.
  // Errors: Errc::io if that cannot be ended.
  [[nodiscard]] Result<std::string> of(const RunId& run);

 private:
  std::string store_place_;
  std::mutex mutex_{};
  std::set<RunId> left_{};  // Those with leftovers to end. Under mutex_.
};

}  // namespace triage::inline v0_1::cli
