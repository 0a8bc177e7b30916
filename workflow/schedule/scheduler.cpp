// SPDX-License-Identifier: MIT
#include "scheduler.hpp"
#include "router.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

// By edge: whether messages of several executors may come along it, out of a nested workflow.
std::vector<bool> edges_of_several(const Plan& plan) {
  std::map<const std::vector<Exit>*, int> senders;
  for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
    const PlanNode& one = plan.nodes[node];
    const bool outputs = one.edges.empty() || one.spec->type.takes_context;
    const auto* exits = exits_of_output(plan, node);
    if (outputs && exits != nullptr) ++senders[exits];
  }
  std::vector<bool> several(plan.edges.size());
  for (const auto& [exits, count] : senders) {
    for (const Exit& exit : *exits) several[exit.edge] = several[exit.edge] || count > 1;
  }
  return several;
}

}  // namespace

Scheduler::Scheduler(const Plan& plan, Schedule schedule, int max_supersteps)
    : plan_(plan),
      schedule_(schedule),
      max_supersteps_(max_supersteps),
      nodes_(plan.nodes.size()),
      buffers_(plan.edges.size()) {
  for (const std::size_t capacity : plan.pools) {
    pools_.push_back({.free = static_cast<std::ptrdiff_t>(capacity)});
  }
  held_of_.resize(plan.edges.size(), none);
  const std::vector<bool> several = edges_of_several(plan);
  std::optional<Senders> senders;
  std::vector<int> seen;
  for (std::size_t i = 0; i < plan.edges.size(); ++i) {
    const EdgeSpec& spec = *plan.edges[i].spec;
    const bool joins = spec.kind == EdgeSpec::Kind::fan_in;
    if (joins) buffers_[i].sources.resize(spec.sources.size());
    const bool waits_for_all = !joins || spec.join.kind == Join::Kind::all;
    if (schedule != Schedule::eager || (waits_for_all && !several[i])) continue;
    held_of_[i] = held_.size();
    if (!senders) {
      senders.emplace(plan);
      seen.resize(plan.nodes.size(), Distances::never);
    }
    held_.push_back({.edge = i, .distances = Distances(*senders, i, seen)});
  }
  if (!held_.empty()) connect_held();
}

void Scheduler::connect_held() {
  held_by_.resize(plan_.nodes.size());
  std::vector<std::vector<std::size_t>> leading_to(plan_.nodes.size());
  for (std::size_t i = 0; i < held_.size(); ++i) {
    for (const auto& targets : plan_.edges[held_[i].edge].targets) {
      for (const std::size_t node : targets) leading_to[node].push_back(i);
    }
  }
  for (std::size_t i = 0; i < held_.size(); ++i) {
    std::vector<std::size_t>& before = held_[i].before;
    for (const Distances::Near& one : held_[i].distances.nodes()) {
      for (const std::size_t other : leading_to[one.node]) {
        if (other != i) before.push_back(other);
      }
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
}

void Scheduler::start(const Message& inputs) {
  for (const std::size_t node : plan_.scopes.front().starts) {
    deliver(node, {Origin{}}, 1, inputs);
  }
}

std::optional<Delivery> Scheduler::next() {
  std::size_t index = 0;
  do {
    if (ready_.empty() || superstep_is_over_limit()) return std::nullopt;
    index = ready_.front();
    ready_.pop_front();
  } while (!admit(index));
  Node& node = nodes_[index];
  Delivery delivery = std::move(node.queue.front());
  node.queue.pop_front();
  node.busy = true;
  node.superstep = delivery.superstep;
  ++running_;
  --waiting_;
  return delivery;
}

void Scheduler::settle(const Delivery& delivery, std::vector<Sent> sent) {
  const Origin origin{delivery.node, delivery.occurrence};
  Node& node = nodes_[delivery.node];
  node.busy = false;
  --running_;
  give_back(delivery.node);
  if (!node.queue.empty()) {
    ready_.push_back(delivery.node);
  } else {
    in_progress_.erase(delivery.node);
  }
  if (schedule_ == Schedule::eager) {
    superstep_ = std::max(superstep_, delivery.superstep);
    route(origin, delivery.superstep, sent);
    if (!held_.empty()) {
      take_all(held_by_[delivery.node]);
      release();
    }
  } else {
    settled_.push_back({origin, delivery.superstep, std::move(sent)});
  }
}

std::vector<Origin> Scheduler::queued() const {
  std::vector<Origin> all;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    for (const Delivery& one : nodes_[node].queue) all.push_back({node, one.occurrence});
  }
  return all;
}

void Scheduler::leave(const Delivery& delivery) {
  --running_;
  ++left_;
  give_back(delivery.node);
}

void Scheduler::again(const Delivery& delivery) {
  ++running_;
  --left_;
  for (const std::size_t pool : plan_.nodes[delivery.node].pools) {
    --pools_[pool].free;  // Even if none is free.
  }
}

// Takes a place in each of the node's pools, or waits for the first full one.
bool Scheduler::admit(std::size_t node) {
  const std::vector<std::size_t>& pools = plan_.nodes[node].pools;
  for (const std::size_t full : pools) {
    if (pools_[full].free > 0) continue;
    pools_[full].waiting.push_back(node);
    for (const std::size_t pool : pools) wake(pool);  // A place that it does not use.
    return false;
  }
  for (const std::size_t pool : pools) --pools_[pool].free;
  return true;
}

void Scheduler::give_back(std::size_t node) {
  for (const std::size_t pool : plan_.nodes[node].pools) {
    ++pools_[pool].free;
    wake(pool);
  }
}

void Scheduler::wake(std::size_t index) {
  Pool& pool = pools_[index];
  if (pool.free <= 0 || pool.waiting.empty()) return;
  ready_.push_front(pool.waiting.front());
  pool.waiting.pop_front();
}

bool Scheduler::advance() {
  if (running_ != 0 || left_ != 0 || !ready_.empty()) {
    return !ready_.empty() && !superstep_is_over_limit();
  }
  if (schedule_ == Schedule::eager || settled_.empty()) return false;
  std::vector<Settled> settled = std::exchange(settled_, {});
  std::vector<std::pair<Origin, std::size_t>> order;  // Cheaper to move than the messages.
  order.reserve(settled.size());
  for (const Settled& one : settled) order.emplace_back(one.origin, order.size());
  std::sort(order.begin(), order.end());
  for (const auto& [origin, at] : order) route(origin, settled[at].superstep, settled[at].sent);
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
  if (!held_.empty()) in_progress_.insert(node);
}

void Scheduler::route(const Origin& origin, int superstep, std::vector<Sent>& sent) {
  for (Sent& one : sent) {
    for (const Route& route : one.routes) {
      if (const std::size_t held = held_of_[route.edge]; held != none) {
        auto& messages = held_[held].messages;
        const auto added = messages.insert({route.target, {origin, superstep, one.message}});
        if (added == messages.begin()) unsettled_.insert(held);
        holding_.insert(held);
        ++waiting_;
      } else {
        pass_on(route.edge, route.target, {origin, superstep, one.message});
      }
    }
  }
}

void Scheduler::pass_on(std::size_t edge, std::size_t target, Buffered message) {
  const PlanEdge& along = plan_.edges[edge];
  if (along.spec->kind == EdgeSpec::Kind::fan_in) return join(edge, target, std::move(message));
  for (const std::size_t node : along.targets[target]) {
    deliver(node, {message.origin}, message.superstep + 1, message.message);
  }
}

// What holds these may have changed.
void Scheduler::take_all(std::vector<std::size_t>& waiting) {
  unsettled_.insert(waiting.begin(), waiting.end());
  waiting.clear();
}

// Whether nothing in progress can send along this edge a message no later than its first one. Else
// it waits for the first thing that can.
bool Scheduler::is_next(std::size_t index) {
  const Held& held = held_[index];
  const int superstep = held.messages.begin()->message.superstep;
  const auto comes_before = [&](std::size_t node, int at) {
    const int distance = held.distances[node];
    return distance != Distances::never && at + distance <= superstep;
  };
  const auto holds = [&](std::size_t index_of_node) {
    const Node& node = nodes_[index_of_node];
    if (!node.busy && node.queue.empty()) return false;
    const int at = node.busy ? node.superstep : node.queue.front().superstep;
    if (!comes_before(index_of_node, at)) return false;
    held_by_[index_of_node].push_back(index);
    return true;
  };
  const std::vector<Distances::Near>& before = held.distances.nodes();
  const bool held_by_node =
      before.size() < in_progress_.size()
          ? std::any_of(before.begin(), before.end(),
                        [&](const Distances::Near& one) { return holds(one.node); })
          : std::any_of(in_progress_.begin(), in_progress_.end(), holds);
  if (held_by_node) return false;
  const auto comes_along = [&](std::size_t index_of_other) {
    Held& other = held_[index_of_other];
    if (index_of_other == index || other.messages.empty()) return false;
    const int at = other.messages.begin()->message.superstep + 1;
    const auto& targets = plan_.edges[other.edge].targets;
    const bool leads = std::any_of(targets.begin(), targets.end(), [&](const auto& nodes) {
      return std::any_of(nodes.begin(), nodes.end(),
                         [&](std::size_t node) { return comes_before(node, at); });
    });
    if (leads) other.waiting.push_back(index);
    return leads;
  };
  return held.before.size() < holding_.size()
             ? std::none_of(held.before.begin(), held.before.end(), comes_along)
             : std::none_of(holding_.begin(), holding_.end(), comes_along);
}

void Scheduler::release() {
  while (!unsettled_.empty()) {
    const std::size_t index = *unsettled_.begin();
    unsettled_.erase(unsettled_.begin());
    pass_on_what_is_next(index);
  }
}

// With a message all others of its superstep are next: what they lead to comes later.
void Scheduler::pass_on_what_is_next(std::size_t index) {
  Held& held = held_[index];
  while (!held.messages.empty() && is_next(index)) {
    const int superstep = held.messages.begin()->message.superstep;
    while (!held.messages.empty() && held.messages.begin()->message.superstep == superstep) {
      HeldMessage first = std::move(held.messages.extract(held.messages.begin()).value());
      --waiting_;
      pass_on(held.edge, first.target, std::move(first.message));
    }
    take_all(held.waiting);
  }
  if (held.messages.empty()) holding_.erase(index);
}

void Scheduler::join(std::size_t edge, std::size_t source, Buffered message) {
  Buffer& buffer = buffers_[edge];
  buffer.filled.insert(source);
  buffer.sources[source].push_back(std::move(message));
  const EdgeSpec& spec = *plan_.edges[edge].spec;
  const std::size_t wanted =
      spec.join.kind == Join::Kind::all ? buffer.sources.size() : spec.join.count;
  if (buffer.filled.size() < wanted) return;
  const auto first = buffer.filled.begin();
  emit_joined(edge, {first, std::next(first, static_cast<std::ptrdiff_t>(wanted))});
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
    if (queue.empty()) buffers_[edge].filled.erase(source);
  }
  buffers_[edge].has_joined = true;
  const int when = schedule_ == Schedule::eager ? superstep + 1 : superstep_ + 1;
  Message joined{"list", std::make_shared<const Json>(std::move(list))};
  for (const std::size_t node : plan_.edges[edge].targets.front()) {
    deliver(node, from, when, joined);
  }
}

std::vector<std::pair<std::size_t, std::set<std::size_t>>> Scheduler::joins_waiting() const {
  std::vector<std::pair<std::size_t, std::set<std::size_t>>> waiting;
  for (std::size_t edge = 0; edge < buffers_.size(); ++edge) {
    const Buffer& buffer = buffers_[edge];
    if (buffer.filled.empty()) continue;
    const bool wants_all = plan_.edges[edge].spec->join.kind == Join::Kind::all;
    if (wants_all || !buffer.has_joined) waiting.emplace_back(edge, buffer.filled);
  }
  return waiting;
}

}  // namespace triage::inline v0_1::workflow::detail
