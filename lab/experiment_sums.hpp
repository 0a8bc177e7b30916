// SPDX-License-Identifier: MIT
#pragma once
// What the samples of some seeds come to: all that a report is made of. Sums of blocks of seeds can
// be added and stored, so that no sample is kept.

#include "statistics.hpp"

#include "triage/lab/experiment.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace triage::inline v0_1::lab::detail {

using FigureSums = std::map<std::string, Moments, std::less<>>;

class ExperimentSums {
 public:
  // others: how many conditions there are for each level of the first factor.
  ExperimentSums(std::size_t conditions, std::size_t others)
      : conditions_(conditions), pairs_(conditions - others), others_(others) {}

  // The samples of one seed, a condition each.
  void add(const std::vector<Sample>& samples);
  // Of other seeds. The order of adding decides about the last bits.
  void add(const ExperimentSums& more);
  [[nodiscard]] ExperimentReport report(const std::vector<Condition>& conditions) const;

  [[nodiscard]] Json json() const;
  // False if this is none of sums with as many conditions.
  [[nodiscard]] bool read(const Json& json);

 private:
  struct OfCondition {
    std::uint64_t trials = 0;
    std::uint64_t successes = 0;
    FigureSums figures{};
  };
  struct OfPair {  // Condition `others_` + i against i % `others_`.
    std::uint64_t gained = 0;
    std::uint64_t lost = 0;
    FigureSums figures{};
  };
  std::vector<OfCondition> conditions_;
  std::vector<OfPair> pairs_;
  std::size_t others_;
};

}  // namespace triage::inline v0_1::lab::detail
