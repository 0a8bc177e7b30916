// SPDX-License-Identifier: MIT
#pragma once
// Where messages may arrive, and in which order an eager workflow delivers those to fan-ins that do
// not wait for all their sources.

#include "definition/plan.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Who sends to whom. The nodes that may send along an edge, and those that may send to a node.
struct Senders {
  explicit Senders(const Plan& plan);
  std::vector<std::vector<std::size_t>> along;  // By edge.
  std::vector<std::vector<std::size_t>> to;     // By node.
};

// The distances of nodes from a fan-in: how many deliveries before a message reaches one of its
// sources. 0 for the sources themselves.
class Distances {
 public:
  static constexpr int never = std::numeric_limits<int>::max();
  struct Near {
    std::uint32_t node = 0;
    int distance = 0;
  };

  // seen: `never` for each node, before and after.
  Distances(const Senders& senders, std::size_t fan_in, std::vector<int>& seen);
  [[nodiscard]] int operator[](std::size_t node) const noexcept;
  // The nodes with a path to it, by their index.
  [[nodiscard]] const std::vector<Near>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<Near> nodes_{};
};

// Whether a message that one of these nodes sends may lead to a delivery of a node; by node.
[[nodiscard]] std::vector<bool> led_to(const Plan& plan, std::vector<std::size_t> nodes);

}  // namespace triage::inline v0_1::workflow::detail
