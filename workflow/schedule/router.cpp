// SPDX-License-Identifier: MIT
#include "router.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

Error no_target(std::string_view edge, std::string_view target,
                const std::vector<std::string>& targets) {
  return {Errc::invalid_argument, "edge \"" + printable(edge) + "\" does not lead to \"" +
                                      printable(target) + "\"; its targets are " +
                                      triage::detail::joined(targets)};
}

Result<void> add_fan_out(const PlanEdge& edge, std::size_t index, const Message& message,
                         std::vector<Route>& routes) {
  const auto& targets = edge.spec->targets;
  if (!edge.spec->selector) {
    for (std::size_t i = 0; i < targets.size(); ++i) routes.push_back({index, i});
    return outcome::success();
  }
  std::vector<bool> chosen(targets.size());
  for (const std::string& name : edge.spec->selector(message)) {
    const auto found = std::find(targets.begin(), targets.end(), name);
    if (found == targets.end()) return no_target(edge.name, name, targets);
    chosen[static_cast<std::size_t>(found - targets.begin())] = true;
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (chosen[i]) routes.push_back({index, i});
  }
  return outcome::success();
}

Result<void> add_routes(const PlanEdge& edge, const Exit& exit, const Message& message,
                        std::vector<Route>& routes) {
  const EdgeSpec& spec = *edge.spec;
  switch (spec.kind) {
    case EdgeSpec::Kind::direct:
      if (spec.conditions.empty() || spec.conditions.front()(message)) {
        routes.push_back({exit.edge, 0});
      }
      return outcome::success();
    case EdgeSpec::Kind::choice: {
      const auto holds = std::find_if(spec.conditions.begin(), spec.conditions.end(),
                                      [&](const Condition& one) { return one(message); });
      routes.push_back({exit.edge, static_cast<std::size_t>(holds - spec.conditions.begin())});
      return outcome::success();
    }
    case EdgeSpec::Kind::fan_out: return add_fan_out(edge, exit.edge, message, routes);
    case EdgeSpec::Kind::fan_in: routes.push_back({exit.edge, exit.source}); break;
  }
  return outcome::success();
}

}  // namespace

Result<std::vector<Route>> routes_of(const Plan& plan, const std::vector<Exit>& exits,
                                     const Message& message,
                                     std::optional<std::string_view> target) {
  std::vector<Route> routes;
  for (const Exit& exit : exits) {
    const PlanEdge& edge = plan.edges[exit.edge];
    if (!target) {
      TRIAGE_TRYV(add_routes(edge, exit, message, routes));
      continue;
    }
    const auto& targets = edge.spec->targets;
    const auto found = std::find(targets.begin(), targets.end(), *target);
    if (found == targets.end()) continue;
    const bool joined = edge.spec->kind == EdgeSpec::Kind::fan_in;
    routes.push_back(
        {exit.edge, joined ? exit.source : static_cast<std::size_t>(found - targets.begin())});
    return outcome::success(std::move(routes));
  }
  if (target) {
    return Error{Errc::invalid_argument,
                 "no edge of the executor leads to \"" + printable(*target) + "\""};
  }
  return outcome::success(std::move(routes));
}

const std::vector<Exit>* exits_of_output(const Plan& plan, std::size_t node) {
  for (std::size_t scope = plan.nodes[node].scope; plan.scopes[scope].parent >= 0;
       scope = static_cast<std::size_t>(plan.scopes[scope].parent)) {
    if (!plan.scopes[scope].edges.empty()) return &plan.scopes[scope].edges;
  }
  return nullptr;
}

}  // namespace triage::inline v0_1::workflow::detail
