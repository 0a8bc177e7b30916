// SPDX-License-Identifier: MIT
#include "scheduler.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

Scheduler::Scheduler(const Plan& plan, Schedule schedule, int max_supersteps)
    : plan_(plan),
      schedule_(schedule),
      max_supersteps_(max_supersteps),
      nodes_(plan.nodes.size()),
      buffers_(plan.edges.size()) {
  for (std::size_t i = 0; i < plan.edges.size(); ++i) {
    if (plan.edges[i].spec->kind == EdgeSpec::Kind::fan_in) {
      buffers_[i].sources.resize(plan.edges[i].spec->sources.size());
    }
  }
}

void Scheduler::start(const Message& inputs) {
  for (const std::size_t node : plan_.scopes.front().starts) {
    deliver(node, {Origin{}}, 1, inputs);
  }
}

std::optional<Delivery> Scheduler::next() {
  if (ready_.empty() || at_limit_) return std::nullopt;
  Node& node = nodes_[ready_.front()];
  ready_.pop_front();
  Delivery delivery = std::move(node.queue.front());
  node.queue.pop_front();
  node.busy = true;
  ++running_;
  --waiting_;
  return delivery;
}

void Scheduler::settle(const Delivery& delivery, std::vector<Sent> sent) {
  const Origin origin{delivery.node, delivery.occurrence};
  Node& node = nodes_[delivery.node];
  node.busy = false;
  --running_;
  if (!node.queue.empty()) ready_.push_back(delivery.node);
  if (schedule_ == Schedule::eager) {
    superstep_ = std::max(superstep_, delivery.superstep);
    route(origin, delivery.superstep, sent);
  } else {
    settled_.push_back({origin, delivery.superstep, std::move(sent)});
  }
}

void Scheduler::leave(const Delivery&) {
  --running_;
  ++left_;
}

void Scheduler::again(const Delivery&) {
  ++running_;
  --left_;
}

bool Scheduler::advance() {
  if (running_ != 0 || left_ != 0 || !ready_.empty()) return !ready_.empty() && !at_limit_;
  if (schedule_ == Schedule::eager || settled_.empty()) return false;
  std::vector<Settled> settled = std::exchange(settled_, {});
  std::sort(settled.begin(), settled.end(),
            [](const Settled& a, const Settled& b) { return a.origin < b.origin; });
  for (Settled& one : settled) route(one.origin, one.superstep, one.sent);
  if (ready_.empty()) return false;
  if (superstep_ == max_supersteps_) {
    at_limit_ = true;
    return false;
  }
  ++superstep_;
  return true;
}

void Scheduler::deliver(std::size_t node, std::vector<Origin> from, int superstep,
                        Message message) {
  if (schedule_ == Schedule::eager && superstep > max_supersteps_) {
    at_limit_ = true;
    ++waiting_;
    return;
  }
  Node& to = nodes_[node];
  to.queue.push_back({.node = node,
                      .occurrence = ++to.deliveries,
                      .superstep = superstep,
                      .from = std::move(from),
                      .message = std::move(message)});
  ++waiting_;
  if (!to.busy && to.queue.size() == 1) ready_.push_back(node);
}

void Scheduler::route(const Origin& origin, int superstep, std::vector<Sent>& sent) {
  for (Sent& one : sent) {
    for (const Route& route : one.routes) {
      const PlanEdge& edge = plan_.edges[route.edge];
      if (edge.spec->kind == EdgeSpec::Kind::fan_in) {
        join(route.edge, route.target, {origin, superstep, one.message});
        continue;
      }
      for (const std::size_t node : edge.targets[route.target]) {
        deliver(node, {origin}, superstep + 1, one.message);
      }
    }
  }
}

void Scheduler::join(std::size_t edge, std::size_t source, Buffered message) {
  Buffer& buffer = buffers_[edge];
  if (buffer.sources[source].empty()) ++buffer.filled;
  buffer.sources[source].push_back(std::move(message));
  const EdgeSpec& spec = *plan_.edges[edge].spec;
  const std::size_t wanted =
      spec.join.kind == Join::Kind::all ? buffer.sources.size() : spec.join.count;
  if (buffer.filled < wanted) return;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; chosen.size() < wanted; ++i) {
    if (!buffer.sources[i].empty()) chosen.push_back(i);
  }
  emit_joined(edge, chosen);
}

void Scheduler::emit_joined(std::size_t edge, const std::vector<std::size_t>& sources) {
  Json list = Json::array();
  std::vector<Origin> from;
  int superstep = 0;
  for (const std::size_t source : sources) {
    auto& queue = buffers_[edge].sources[source];
    Buffered& first = queue.front();
    list.push_back(first.message.json());
    from.push_back(first.origin);
    superstep = std::max(superstep, first.superstep);
    queue.pop_front();
    if (queue.empty()) --buffers_[edge].filled;
  }
  const int when = schedule_ == Schedule::eager ? superstep + 1 : superstep_ + 1;
  Message joined{"list", std::make_shared<const Json>(std::move(list))};
  for (const std::size_t node : plan_.edges[edge].targets.front()) {
    deliver(node, from, when, joined);
  }
}

}  // namespace triage::inline v0_1::workflow::detail
