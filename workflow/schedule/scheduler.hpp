// SPDX-License-Identifier: MIT
#pragma once
// Decides which executor runs next: a state machine without I/O, threads, clocks or user code.

#include "arrivals.hpp"
#include "definition/plan.hpp"

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

inline constexpr std::size_t from_outside = std::numeric_limits<std::size_t>::max();

// The delivery that sent a message, or from_outside.
struct Origin {
  std::size_t node = from_outside;
  int occurrence = 0;

  friend auto operator<=>(const Origin&, const Origin&) = default;
};

// Where a message goes, as decided by conditions and selectors.
struct Route {
  std::size_t edge = 0;
  std::size_t target = 0;  // Index into the edge's targets; for a fan-in, into its sources.

  friend bool operator==(const Route&, const Route&) = default;
};
struct Sent {
  Message message{};
  std::vector<Route> routes{};
};

struct Delivery {
  std::size_t node = 0;
  int occurrence = 0;  // 1 for the first delivery to the node.
  int superstep = 0;
  std::vector<Origin> from{};  // A fan-in has one per element.
  Message message{};
};

// Deliveries are ordered independently of the order in which concurrent ones are settled.
//
//   start(…), then repeatedly: run what next() returns and settle() each; when it returns nothing
//   and nothing is running, advance().
//
// In an eager workflow, a fan-in that does not wait for all its sources takes messages in the order
// (length of the path, executor), as in supersteps: a message is held until nothing in progress can
// still send one that is no later. So is one on an edge out of a nested workflow of which several
// executors may send.
//
// Cost: O(1) for each delivery and route, apart from sorting what a superstep has sent and, for
// messages that are held, looking for what holds them each time that this has changed.
class Scheduler {
 public:
  Scheduler(const Plan& plan, Schedule schedule, int max_supersteps);

  void start(const Message& inputs);
  // A delivery to run now; its node runs nothing else until this is settled.
  [[nodiscard]] std::optional<Delivery> next();
  // Whether more deliveries than the current one wait for this node.
  [[nodiscard]] bool has_more(std::size_t node) const { return !nodes_[node].queue.empty(); }
  // The delivery has finished and sent these messages.
  void settle(const Delivery& delivery, std::vector<Sent> sent);
  // The delivery will not be settled in this run of the scheduler; its node gets no more.
  void leave(const Delivery& delivery);
  // Runs a delivery that was left after all.
  void again(const Delivery& delivery);
  // Ends the superstep if everything in it is settled. False if nothing more can run.
  [[nodiscard]] bool advance();

  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  [[nodiscard]] int superstep() const noexcept { return superstep_; }
  // There are deliveries for one superstep more than allowed.
  [[nodiscard]] bool at_limit() const noexcept { return at_limit_; }
  // Deliveries that have not run yet.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  // Those of them that have been delivered: by node, and in order.
  [[nodiscard]] std::vector<Origin> queued() const;
  // Fan-ins that have messages and wait for others, except those that have taken as many as they
  // want of all: by edge, with the sources whose messages they have.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::set<std::size_t>>> joins_waiting() const;

 private:
  struct Node {
    std::deque<Delivery> queue{};
    int deliveries = 0;
    int superstep = 0;  // Of its current delivery.
    bool busy = false;
  };
  struct Buffered {
    Origin origin{};
    int superstep = 0;
    Message message{};
  };
  struct Settled {
    Origin origin{};
    int superstep = 0;
    std::vector<Sent> sent{};
  };

  void deliver(std::size_t node, std::vector<Origin> from, int superstep, Message message);
  void route(const Origin& origin, int superstep, std::vector<Sent>& sent);
  struct Held;
  // target: that of the route.
  void pass_on(std::size_t edge, std::size_t target, Buffered message);
  void connect_held();
  void take_all(std::vector<std::size_t>& waiting);
  void release();
  void pass_on_what_is_next(std::size_t index);
  [[nodiscard]] bool is_next(std::size_t index);
  // An eager workflow only leaves out what is beyond its limit, whichever comes first.
  [[nodiscard]] bool superstep_is_over_limit() const noexcept {
    return at_limit_ && schedule_ != Schedule::eager;
  }
  void join(std::size_t edge, std::size_t source, Buffered message);
  void emit_joined(std::size_t edge, const std::vector<std::size_t>& sources);

  const Plan& plan_;
  Schedule schedule_;
  int max_supersteps_;
  std::vector<Node> nodes_;
  struct Buffer {
    std::vector<std::deque<Buffered>> sources{};
    std::set<std::size_t> filled{};  // Sources with a message.
    bool has_joined = false;
  };
  // Limits how many deliveries run at the same time.
  struct Pool {
    std::ptrdiff_t free = 0;            // Negative if a delivery that was left runs again.
    std::deque<std::size_t> waiting{};  // Nodes ready except for this pool.
  };
  [[nodiscard]] bool admit(std::size_t node);
  void give_back(std::size_t node);
  void wake(std::size_t pool);
  std::vector<Pool> pools_{};
  std::vector<Buffer> buffers_;      // Of fan-ins, by edge.
  std::deque<std::size_t> ready_{};  // Nodes that are idle and have queued deliveries.
  std::vector<Settled> settled_{};   // In this superstep.
  struct HeldMessage {
    std::size_t target = 0;  // Of its route.
    Buffered message{};

    friend bool operator<(const HeldMessage& a, const HeldMessage& b) noexcept {
      return std::tie(a.message.superstep, a.message.origin) <
             std::tie(b.message.superstep, b.message.origin);
    }
  };
  struct Held {
    std::size_t edge = 0;
    Distances distances;
    std::multiset<HeldMessage> messages{};
    std::vector<std::size_t> before{};   // Others of held_ whose messages may lead to it.
    std::vector<std::size_t> waiting{};  // Others of held_ that wait for its messages.
  };
  std::vector<Held> held_{};            // Eager: for each edge whose messages must be put in order.
  std::vector<std::size_t> held_of_{};  // By edge: where it is in held_, or none.
  std::set<std::size_t> holding_{};     // Those of held_ that have messages.
  std::set<std::size_t> unsettled_{};   // Those of them of which it is not known what holds them.
  std::vector<std::vector<std::size_t>> held_by_{};  // By node: those of held_ that wait for it.
  std::set<std::size_t> in_progress_{};  // Nodes that run or are to run, if anything may be held.
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t running_ = 0;
  std::size_t left_ = 0;
  std::size_t waiting_ = 0;
  int superstep_ = 1;
  bool at_limit_ = false;
};

}  // namespace triage::inline v0_1::workflow::detail
