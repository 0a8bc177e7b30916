// SPDX-License-Identifier: MIT
#pragma once
// Experiments as files: a scripted agent, policies, faults and budgets, without any C++.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/lab/experiment.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab {

// A part of one simulated run: an attempt.
struct TimelineSpan {
  std::uint64_t job = 0;  // 0 for the first, in the order of starting.
  int attempt = 1;        // Of its job, counted through all lives of its process.
  Duration from{0};       // Since the beginning of the world.
  Duration to{0};
  std::string end{};  // "done", "killed", "budget spent", or the type of failure it really was.
};

// What a file describes. A handle: copies share everything.
// Thread-safety: all members may be called from several threads at once.
class ScriptedExperiment {
 public:
  struct Parts;
  explicit ScriptedExperiment(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& about() const noexcept;
  // Its factors and seeds: the rest is for the caller. The first factor is the one to compare.
  [[nodiscard]] const ExperimentOptions& options() const noexcept;
  // All that decides what comes out, seeds aside: for telling two experiments apart.
  [[nodiscard]] const std::string& fingerprint() const noexcept;

  // For run_experiment. Throws std::runtime_error where the simulated world does not end.
  // Figures: attempts, steps, wasted (steps that no result came of), seconds (simulated), tokens,
  // usd, correct (the share of jobs with the right result), doubled (effects that happened again);
  // with several jobs also finished (their share).
  [[nodiscard]] Sample trial(const Condition& condition, std::uint64_t seed) const;
  // The attempts of the same trial, in the order of their ends.
  [[nodiscard]] std::vector<TimelineSpan> timeline(const Condition& condition,
                                                   std::uint64_t seed) const;

 private:
  std::shared_ptr<Parts> parts_;
};

// Reads a policy document that an experiment names, as JSON. Its errors are passed on as they are.
using ReadPolicyFile = std::function<Result<Json>(const std::string& file)>;

// Makes an empty store for one trial: kind is "sqlite" or "file". It, and all that it has written,
// is gone when nobody holds it any more. Called on several threads at once.
using MakeStore = std::function<Result<std::shared_ptr<CheckpointStore>>(std::string_view kind)>;

// docs/experiments.md lists the keys. Errors: Errc::invalid_argument: the path of the key
// ("faults.flaky[0].rate"), its value and what is allowed; one line a problem. make_store: null
// refuses the stores that are real.
[[nodiscard]] Result<ScriptedExperiment> experiment_from_json(const Json& json,
                                                              const ReadPolicyFile& read_policy,
                                                              const MakeStore& make_store = {});

}  // namespace triage::inline v0_1::lab
