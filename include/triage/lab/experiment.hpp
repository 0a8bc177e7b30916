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
  std::vector<std::string> levels{};  // At least one; no duplicates.
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

// The result of one seed under one condition.
struct Sample {
  bool success = false;
  std::map<std::string, double, std::less<>> figures{};  // "attempts", "tokens", …; finite.
  // Questions with yes or no for an answer ("correct"): reported as figures, with intervals of
  // shares. A name that is also in `figures` counts here.
  std::map<std::string, bool, std::less<>> facts{};
  // Not empty: this seed came to no end, and why. Its condition has no result then.
  std::string endless{};
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// For a rate: contains it with 95 % confidence. trials: 1 or more. Source: E. Wilson, "Probable
// inference", JASA 22, 1927.
[[nodiscard]] Interval wilson_interval(std::uint64_t successes, std::uint64_t trials);
// Of the difference of two rates that were measured with the same seeds. gained, lost: seeds on
// which only the second, or only the first, succeeds; trials: all of them, 1 or more.
// Source: A. Agresti, Y. Min, Statistics in Medicine 24, 2005.
[[nodiscard]] Interval paired_interval(std::uint64_t gained, std::uint64_t lost,
                                       std::uint64_t trials);

struct Mean {
  double value = 0.0;
  // 95 %. Of a fact: wilson_interval, and paired_interval for a difference. Otherwise Student's t,
  // from the standard error; for a single value, which has no interval, NaN.
  Interval interval{};
};

// With four digits, or as a whole number: "0.0979", "22194".
[[nodiscard]] std::string short_number(double value);

struct ConditionReport {
  Condition condition;
  std::uint64_t trials = 0;
  std::uint64_t successes = 0;
  double rate = 0.0;
  Interval interval{};
  std::map<std::string, Mean, std::less<>> figures{};  // Over the samples that have the figure.
};

// A condition without a result, and the first of its seeds that came to no end.
struct FailedCondition {
  Condition condition;
  std::uint64_t seed = 0;
  std::string why{};

  [[nodiscard]] std::string text() const;  // "policy=r has no result: seed 1 …"
};

// One condition compared with another, seed by seed.
struct Difference {
  std::size_t from = 0;  // Places in ExperimentReport::conditions.
  std::size_t to = 0;
  double rate = 0.0;  // Of `to` minus that of `from`.
  Interval interval{};
  std::map<std::string, Mean, std::less<>> figures{};  // Over seeds where both have the figure.
};

struct ExperimentReport {
  std::vector<ConditionReport> conditions{};  // Those that have a result.
  // Each other level of the first factor compared with its first level, all else being equal.
  std::vector<Difference> differences{};
  std::vector<FailedCondition> failed{};
  std::uint64_t resumed = 0;  // Samples already in the store.

  [[nodiscard]] std::string text() const;  // A table for people.
  // One line per condition: its levels, then trials (0 without a result), successes, rate,
  // interval, means.
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] Json json() const;
};

inline constexpr std::uint64_t most_seeds = 1'000'000'000'000;

struct ExperimentOptions {
  std::vector<Factor> factors{};  // The first one is compared, relative to its first level.
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1000;  // 1 to most_seeds.
  int threads = 0;             // 0: the number of cores.
  // The experiment is a run in this store, with a step per block of seeds: if its process dies, the
  // next call continues after the last step; if it has finished, its result is returned. Null:
  // nothing is stored.
  std::shared_ptr<CheckpointStore> store{};
  // Both are for the store, and part of the run's id. name: 1 to 100 of A-Z a-z 0-9 . _ : -
  std::string name = "experiment";
  std::string trial{};  // Identifies the trial: change it to invalidate stored results.
  // Called after each seed, by one thread at a time, with the number done and the total. Its
  // exceptions are ignored.
  std::function<void(std::uint64_t done, std::uint64_t all)> on_progress{};
};

// The run of this experiment in a store: its name and a hash of factors, seeds and `trial`.
[[nodiscard]] RunId experiment_run(const ExperimentOptions& options);

// trial: depends only on its arguments, and is called from several threads at once. Errors:
// Errc::invalid_argument (no factor, a factor without levels or with a duplicate, no seeds, a
// figure that is not finite, an invalid name); Errc::aborted (a trial threw); those of
// TriageAgent::run_or_resume: Errc::busy if another process is running it.
[[nodiscard]] Result<ExperimentReport> run_experiment(
    const std::function<Sample(const Condition&, std::uint64_t seed)>& trial,
    const ExperimentOptions& options);

}  // namespace triage::inline v0_1::lab
