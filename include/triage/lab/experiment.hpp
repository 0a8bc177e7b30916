// SPDX-License-Identifier: MIT
#pragma once
// Experiments: the same seeds under every combination of factors, compared with intervals.

#include "triage/checkpoint_store.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab {

struct Factor {
  std::string name{};
  std::vector<std::string> levels{};  // One or more, all different.
};

// One combination: a level of each factor, in the order of the factors.
class Condition {
 public:
  Condition(std::size_t index, std::vector<std::pair<std::string, std::string>> levels)
      : index_(index), levels_(std::move(levels)) {}

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& levels() const noexcept {
    return levels_;
  }
  // The level of this factor; empty for a name that is not a factor.
  [[nodiscard]] const std::string& operator[](std::string_view factor) const noexcept;
  [[nodiscard]] std::string text() const;  // "policy=none, faults=outage"

 private:
  std::size_t index_;
  std::vector<std::pair<std::string, std::string>> levels_;
};

// What one seed came to under one condition.
struct Sample {
  bool success = false;
  std::map<std::string, double, std::less<>> figures{};  // "attempts", "tokens", …; finite.
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// Of a rate: with 95 % confidence it lies within. trials: 1 or more.
// Source: E. Wilson, "Probable inference", JASA 22, 1927.
[[nodiscard]] Interval wilson_interval(std::uint64_t successes, std::uint64_t trials);
// Of the difference of two rates that were measured with the same seeds. gained, lost: seeds on
// which only the second, or only the first, succeeds; trials: all of them, 1 or more.
// Source: A. Agresti, Y. Min, Statistics in Medicine 24, 2005.
[[nodiscard]] Interval paired_interval(std::uint64_t gained, std::uint64_t lost,
                                       std::uint64_t trials);

struct Mean {
  double value = 0.0;
  Interval interval{};  // 95 %, from the standard error; of one value it is that value.
};

struct ConditionReport {
  Condition condition;
  std::uint64_t trials = 0;
  std::uint64_t successes = 0;
  double rate = 0.0;
  Interval interval{};
  std::map<std::string, Mean, std::less<>> figures{};  // Over the samples that have the figure.
};

// A condition against another one, seed by seed.
struct Difference {
  std::size_t from = 0;  // Indexes of conditions.
  std::size_t to = 0;
  double rate = 0.0;  // Of `to` minus that of `from`.
  Interval interval{};
  std::map<std::string, Mean, std::less<>> figures{};  // Of seeds where both have the figure.
};

struct ExperimentReport {
  std::vector<ConditionReport> conditions{};
  // Every other level of the first factor against its first level, all other factors being equal.
  std::vector<Difference> differences{};
  std::uint64_t resumed = 0;  // Samples that were in the store already.

  [[nodiscard]] std::string text() const;  // A table for people.
  // A line a condition: its levels, then trials, successes, rate, interval, means.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] Json json() const;
};

struct ExperimentOptions {
  std::vector<Factor> factors{};  // The first one is what is compared; its first level: with what.
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1000;  // 1 or more.
  int threads = 0;             // 0: as many as the machine has cores.
  // The experiment is a run in this store, with a step for each block of seeds: if its process
  // dies, the next call goes on behind the last one; if it has finished, its result is there. Null:
  // nothing is kept.
  std::shared_ptr<CheckpointStore> store{};
  // Both are for the store, and part of the run's id. name: 1 to 100 of A-Z a-z 0-9 . _ : -
  std::string name = "experiment";
  std::string trial{};  // Says what the trial does: change it, and an old run does not count.
  // Called after the samples of a seed, on one thread at a time: how many are done, of how many.
  std::function<void(std::uint64_t done, std::uint64_t all)> on_progress{};
};

// The run of this experiment in a store: its name and a hash of factors, seeds and `trial`.
[[nodiscard]] RunId experiment_run(const ExperimentOptions& options);

// trial: depends on its arguments alone, and is called on several threads at once.
// Errors: Errc::invalid_argument (no factor, a factor without levels or with one twice, no seeds, a
// figure that is not finite, a bad name); Errc::aborted (a trial threw); those of
// TriageAgent::run_or_resume: Errc::busy if another process is at it.
[[nodiscard]] Result<ExperimentReport> run_experiment(
    const std::function<Sample(const Condition&, std::uint64_t seed)>& trial,
    const ExperimentOptions& options);

}  // namespace triage::inline v0_1::lab
