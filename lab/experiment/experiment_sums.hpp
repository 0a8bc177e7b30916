// SPDX-License-Identifier: MIT
#pragma once
// Aggregates of samples: everything a report needs. Sums of blocks of seeds can be added and
// stored, so individual samples are not kept.

#include "lab/base/statistics.hpp"

#include "triage/lab/experiment.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab::detail {

using FigureSums = std::map<std::string, Moments, std::less<>>;

// How often a fact held; of a pair: with the second condition only, and with the first only.
struct Held {
  std::uint64_t trials = 0;
  std::uint64_t yes = 0;
  std::uint64_t no = 0;
};
using FactSums = std::map<std::string, Held, std::less<>>;

// A seed that came to no end.
struct EndlessSeed {
  std::uint64_t seed = 0;
  std::string why{};
};

class ExperimentSums {
 public:
  // others: the number of conditions per level of the first factor.
  ExperimentSums(std::size_t conditions, std::size_t others)
      : conditions_(conditions), pairs_(conditions - others), others_(others) {}

  // The samples of one seed, one per condition. Those that came to no end do not count.
  void add(const std::vector<Sample>& samples, std::uint64_t seed);
  // From other seeds. The order of additions affects rounding.
  void add(const ExperimentSums& more);
  [[nodiscard]] const std::optional<EndlessSeed>& endless(std::size_t condition) const {
    return conditions_[condition].endless;
  }
  [[nodiscard]] ExperimentReport report(const std::vector<Condition>& conditions) const;

  [[nodiscard]] Json json() const;
  // False unless it contains sums for as many conditions.
  [[nodiscard]] bool read(const Json& json);

 private:
  struct OfCondition {
    std::uint64_t trials = 0;
    std::uint64_t successes = 0;
    FigureSums figures{};
    FactSums facts{};
    std::optional<EndlessSeed> endless{};  // The first one.

    void note(const EndlessSeed& one);
  };
  struct OfPair {  // Condition `others_` + i compared with i % `others_`.
    std::uint64_t gained = 0;
    std::uint64_t lost = 0;
    FigureSums figures{};
    FactSums facts{};
  };
  std::vector<OfCondition> conditions_;
  std::vector<OfPair> pairs_;
  std::size_t others_;
};

}  // namespace triage::inline v0_1::lab::detail
