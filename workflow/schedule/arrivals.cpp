// SPDX-License-Identifier: MIT
#include "arrivals.hpp"
#include "router.hpp"

#include <algorithm>

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

Senders::Senders(const Plan& plan) : along(plan.edges.size()), to(plan.nodes.size()) {
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    each_exit(plan, node, [&](std::size_t edge) {
      along[edge].push_back(node);
      for (const auto& targets : plan.edges[edge].targets) {
        for (const std::size_t target : targets) to[target].push_back(node);
      }
    });
  }
}

Distances::Distances(const Senders& senders, std::size_t fan_in, std::vector<int>& seen) {
  const auto reach = [&](const std::vector<std::size_t>& sources, int distance) {
    for (const std::size_t source : sources) {
      if (seen[source] != never) continue;
      seen[source] = distance;
      nodes_.push_back({static_cast<std::uint32_t>(source), distance});
    }
  };
  reach(senders.along[fan_in], 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    reach(senders.to[nodes_[i].node], nodes_[i].distance + 1);
  }
  for (const Near& one : nodes_) seen[one.node] = never;
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Near& one, const Near& other) { return one.node < other.node; });
}

int Distances::operator[](std::size_t node) const noexcept {
  const auto found =
      std::lower_bound(nodes_.begin(), nodes_.end(), node,
                       [](const Near& one, std::size_t wanted) { return one.node < wanted; });
  return found != nodes_.end() && found->node == node ? found->distance : never;
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
