// SPDX-License-Identifier: MIT
#include "arrivals.hpp"
#include "router.hpp"

#include <deque>

namespace triage::inline v0_1::workflow::detail {
namespace {

// What an executor returns or sends follows its edges; what it outputs follows those of its nested
// workflow.
template <class F>
void each_exit(const Plan& plan, std::size_t node, F&& take) {
  for (const Exit& exit : plan.nodes[node].edges) take(exit.edge);
  if (const auto* outer = exits_of_output(plan, node)) {
    for (const Exit& exit : *outer) take(exit.edge);
  }
}

}  // namespace

Distances::Distances(const Plan& plan, std::size_t fan_in) : of_node_(plan.nodes.size(), never) {
  std::vector<std::vector<std::size_t>> before(plan.nodes.size());
  std::deque<std::size_t> next;
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    each_exit(plan, node, [&](std::size_t edge) {
      if (edge == fan_in && of_node_[node] != 0) {
        of_node_[node] = 0;
        next.push_back(node);
      }
      for (const auto& targets : plan.edges[edge].targets) {
        for (const std::size_t target : targets) before[target].push_back(node);
      }
    });
  }
  while (!next.empty()) {
    const std::size_t node = next.front();
    next.pop_front();
    nodes_.push_back(node);
    for (const std::size_t source : before[node]) {
      if (of_node_[source] != never) continue;
      of_node_[source] = of_node_[node] + 1;
      next.push_back(source);
    }
  }
}

std::vector<bool> led_to(const Plan& plan, std::vector<std::size_t> nodes) {
  std::vector<bool> found(plan.nodes.size());
  while (!nodes.empty()) {
    const std::size_t node = nodes.back();
    nodes.pop_back();
    each_exit(plan, node, [&](std::size_t edge) {
      for (const auto& targets : plan.edges[edge].targets) {
        for (const std::size_t target : targets) {
          if (found[target]) continue;
          found[target] = true;
          nodes.push_back(target);
        }
      }
    });
  }
  return found;
}

}  // namespace triage::inline v0_1::workflow::detail
