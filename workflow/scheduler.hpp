// SPDX-License-Identifier: MIT
#pragma once
// Which executor runs next: a machine without I/O, threads, clocks or user code.

#include "arrivals.hpp"
#include "plan.hpp"

#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <string>
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

// Where a message goes, as conditions and selectors have decided.
struct Route {
  std::size_t edge = 0;
  std::size_t target = 0;  // Index into the edge's targets; of a fan-in, its source.

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
  std::vector<Origin> from{};  // Of a fan-in as many as its list is long.
  Message message{};
};

// The order of deliveries does not depend on the order in which those that run at once are settled.
//
//   start(…), then again and again: run what next() gives, settle() each; when it gives nothing
//   and nothing runs, advance().
//
// In an eager workflow, a fan-in that does not wait for all its sources takes messages in the order
// (length of the path, executor), as in supersteps: one that has come is held until nothing that
// is under way can still send one that is not later.
//
// Cost: O(1) for each delivery and route, but for sorting what one superstep has sent, and for
// looking, while a message is held, for what holds it.
class Scheduler {
 public:
  Scheduler(const Plan& plan, Schedule schedule, int max_supersteps);

  void start(const Message& inputs);
  // A delivery that may run now; its node runs nothing else until it is settled.
  [[nodiscard]] std::optional<Delivery> next();
  // More waits for this node than what it is busy with.
  [[nodiscard]] bool has_more(std::size_t node) const { return !nodes_[node].queue.empty(); }
  // It has finished and sent this.
  void settle(const Delivery& delivery, std::vector<Sent> sent);
  // It will not be settled any more in this run of the machine; nothing more of its node comes.
  void leave(const Delivery& delivery);
  // It was left, and runs again after all.
  void again(const Delivery& delivery);
  // Ends the superstep if all of it has been settled. False if nothing more can run.
  [[nodiscard]] bool advance();

  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  [[nodiscard]] int superstep() const noexcept { return superstep_; }
  // There is something to deliver, in a superstep more than are allowed.
  [[nodiscard]] bool at_limit() const noexcept { return at_limit_; }
  // Deliveries that have not run yet.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
  // Those of them that have been delivered: by node, and in order.
  [[nodiscard]] std::vector<Origin> queued() const;

 private:
  struct Node {
    std::deque<Delivery> queue{};
    int deliveries = 0;
    int superstep = 0;  // Of the delivery that it is busy with.
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
  void hold(std::size_t edge, std::size_t source, Buffered message);
  void release();
  [[nodiscard]] bool is_next(std::size_t index);
  void join(std::size_t edge, std::size_t source, Buffered message);
  void emit_joined(std::size_t edge, const std::vector<std::size_t>& sources);

  const Plan& plan_;
  Schedule schedule_;
  int max_supersteps_;
  std::vector<Node> nodes_;
  struct Buffer {
    std::vector<std::deque<Buffered>> sources{};
    std::size_t filled = 0;  // Sources that something has come from.
  };
  // A limit on how much runs at once.
  struct Pool {
    std::ptrdiff_t free = 0;            // Below 0 if one that waited goes on in spite of it.
    std::deque<std::size_t> waiting{};  // Nodes that are ready but for this.
  };
  [[nodiscard]] bool admit(std::size_t node);
  void give_back(std::size_t node);
  void wake(std::size_t pool);
  std::vector<Pool> pools_{};
  std::vector<Buffer> buffers_;      // Of fan-ins, by edge.
  std::deque<std::size_t> ready_{};  // Nodes that are not busy and have something in their queue.
  std::vector<Settled> settled_{};   // In this superstep.
  struct Held {
    std::size_t edge = 0;
    Distances distances;
    std::deque<std::pair<std::size_t, Buffered>> messages{};  // With their sources, in order.
    std::size_t because_of = 0;  // A node that may still send something earlier, perhaps.
  };
  std::vector<Held> held_{};  // Eager: of each fan-in that does not wait for all.
  std::size_t running_ = 0;
  std::size_t left_ = 0;
  std::size_t waiting_ = 0;
  int superstep_ = 1;
  bool at_limit_ = false;
};

}  // namespace triage::inline v0_1::workflow::detail
