// SPDX-License-Identifier: MIT
#pragma once
// Plays one condition of an experiment: the scripted agent in a simulated world, seed by seed.

#include "lab/scripted/scripted_spec.hpp"

#include "triage/lab/experiment.hpp"
#include "triage/lab/experiment_file.hpp"
#include "triage/lab/simulation.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace triage::inline v0_1::lab::detail {

// Thread-safety: all members may be called from several threads at once.
class ScriptedTrial {
 public:
  explicit ScriptedTrial(ScriptedSetup setup) : setup_(std::move(setup)) {}

  // Throws std::runtime_error if the world does not end.
  [[nodiscard]] Sample sample(std::uint64_t seed);
  [[nodiscard]] std::vector<TimelineSpan> timeline(std::uint64_t seed) const;

 private:
  [[nodiscard]] std::unique_ptr<Simulation> simulation(std::vector<TimelineSpan>* spans) const;

  const ScriptedSetup setup_;
  std::mutex mutex_{};
  std::vector<std::unique_ptr<Simulation>> idle_{};  // Including their processes' stacks.
};

}  // namespace triage::inline v0_1::lab::detail
