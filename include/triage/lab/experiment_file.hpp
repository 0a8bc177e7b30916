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

// An attempt, as part of a simulated run.
struct TimelineSpan {
  std::uint64_t job = 0;  // In order of starting, from 0.
  int attempt = 1;        // Within its job, counted across all lives of its process.
  Duration from{0};       // Since the world's start.
  Duration to{0};
  std::string end{};  // "done", "killed", "budget spent", or the real failure type.
};

// The contents of a file. A handle: copies share everything. Thread-safety: all members may be
// called from several threads at once.
class ScriptedExperiment {
 public:
  struct Parts;
  explicit ScriptedExperiment(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] const std::string& about() const noexcept;
  // Its factors and seeds; the caller sets the rest. The first factor is the one compared.
  [[nodiscard]] const ExperimentOptions& options() const noexcept;
  // Covers everything that affects the results except seeds, to tell experiments apart.
  [[nodiscard]] const std::string& fingerprint() const noexcept;

  // For run_experiment. Throws std::runtime_error if the simulated world does not end. Figures:
  // attempts, steps, wasted (steps without a result), seconds (simulated), tokens, usd, correct
  // (share of jobs with the right result), doubled (effects that happened again); with several jobs
  // also finished (their share).
  [[nodiscard]] Sample trial(const Condition& condition, std::uint64_t seed) const;
  // The attempts of the same trial, in order of ending.
  [[nodiscard]] std::vector<TimelineSpan> timeline(const Condition& condition,
                                                   std::uint64_t seed) const;

 private:
  std::shared_ptr<Parts> parts_;
};

// Reads a policy document named by an experiment, as JSON. Its errors are passed on unchanged.
using ReadPolicyFile = std::function<Result<Json>(const std::string& file)>;

// Makes an empty store for one trial: kind is "sqlite" or "file". The store and its files are
// removed with the last reference. Called from several threads at once.
using MakeStore = std::function<Result<std::shared_ptr<CheckpointStore>>(std::string_view kind)>;

// docs/experiments.md lists the keys. Errors: Errc::invalid_argument, one line per problem: the
// key's path ("faults.flaky[0].rate"), its value and what is allowed. make_store: null refuses real
// stores.
[[nodiscard]] Result<ScriptedExperiment> experiment_from_json(const Json& json,
                                                              const ReadPolicyFile& read_policy,
                                                              const MakeStore& make_store = {});

}  // namespace triage::inline v0_1::lab
