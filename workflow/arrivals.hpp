// SPDX-License-Identifier: MIT
#pragma once
// In which order an eager workflow hands messages to fan-ins that do not wait for all sources.

#include "plan.hpp"

#include <cstddef>
#include <limits>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// How far each node is from a fan-in: how many deliveries a message is away from one whose message
// goes into it. 0 for its sources.
class Distances {
 public:
  static constexpr int never = std::numeric_limits<int>::max();

  Distances(const Plan& plan, std::size_t fan_in);
  [[nodiscard]] int operator[](std::size_t node) const noexcept { return of_node_[node]; }
  // The nodes that lead to it.
  [[nodiscard]] const std::vector<std::size_t>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<int> of_node_;
  std::vector<std::size_t> nodes_{};
};

}  // namespace triage::inline v0_1::workflow::detail
