// SPDX-License-Identifier: MIT
#pragma once
// The interface asked before an attempt or a call may start: circuit breakers, rate limiters,
// bulkheads, retry budgets.

#include "triage/clock.hpp"
#include "triage/result.hpp"
#include "triage/taxonomy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

// What asks to start. Views are valid during the call only.
struct GateRequest {
  std::string_view tool{};                   // The agent's name for a whole attempt.
  std::string_view endpoint{};               // Host, queue, account; empty: none.
  bool retry = false;                        // An attempt at this work has failed before.
  FailureType after = FailureType::unknown;  // retry: how the previous attempt failed …
  std::string_view after_reason{};           // … and the reason of that classification.
  Duration waited{0};                        // Time spent waiting at gates so far.
  TimePoint now{};
  WallTime wall{};  // For gates shared by processes; see Gate::needs_wall_time.
};

struct GateAnswer {
  enum class Kind : std::uint8_t {
    pass,    // It may start; leave() follows.
    wait,    // Not yet: ask again after `wait`.
    refuse,  // It must not start; `wait` says when to ask again, 0: unknown.
  };
  Kind kind = Kind::pass;
  Duration wait{0};
  std::string reason{};      // refuse: "circuit_open", … as in Classification::reason.
  std::string message{};     // refuse: for people; names the gate and the key.
  std::uint64_t ticket = 0;  // Passed to leave().
};

// How the work went.
struct GateOutcome {
  bool succeeded = true;
  FailureType type = FailureType::unknown;  // If it failed.
  std::string_view reason{};
  std::optional<Duration> retry_after{};  // What the other side asked for.
  bool retry = false;                     // As in the request.
  FailureType after = FailureType::unknown;
  std::string_view after_reason{};
  Duration took{0};
};

// Thread-safety: all members may be called from several threads at once. They neither throw nor
// block longer than a store's own bounded wait.
class Gate {
 public:
  virtual ~Gate() = default;
  // "circuit_breaker" and so on: for events and explanations.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  // Whether it looks at GateRequest::wall, which is not filled in if no gate of a list does:
  // reading that clock takes as long as the gate itself. The answer must never change.
  [[nodiscard]] virtual bool needs_wall_time() const noexcept { return true; }
  [[nodiscard]] virtual GateAnswer enter(const GateRequest& request) noexcept = 0;
  // Called exactly once per pass, unless withdraw() is. A null outcome only returns the permit: the
  // work was cancelled and tells nothing. A permit that is never returned must not block others for
  // ever.
  virtual void leave(const GateRequest& request, std::uint64_t ticket,
                     const GateOutcome* outcome) noexcept = 0;
  // Instead of leave(): the work never started, because a later gate did not let it pass.
  virtual void withdraw(const GateRequest& request, std::uint64_t ticket) noexcept {
    leave(request, ticket, nullptr);
  }
};

namespace detail {

struct GateList {
  std::vector<std::shared_ptr<Gate>> gates{};
  std::shared_ptr<Clock> clock{};
  bool needs_wall_time = false;
};

}  // namespace detail

// Held from passing all gates until the outcome is reported. Move-only; if destroyed without a
// report, returns its permits. Not thread-safe.
class Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept { *this = std::move(other); }
  Permit& operator=(Permit&& other) noexcept;
  ~Permit() { give_back(); }

  // The first report counts.
  void succeeded() { report({}); }
  void failed(FailureType type, std::string_view reason = {},
              std::optional<Duration> retry_after = {}) {
    report({.succeeded = false, .type = type, .reason = reason, .retry_after = retry_after});
  }
  // Fills in `took` and what the request says.
  void report(GateOutcome outcome);
  // The same; `now` was just read from the gates' clock.
  void report(GateOutcome outcome, TimePoint now);
  // When all gates were passed.
  [[nodiscard]] TimePoint entered() const noexcept { return entered_; }

 private:
  friend class GateKeeper;
  static constexpr std::size_t few = 4;

  void give_back() {
    if (passed_ > 0) leave(nullptr, gates_->clock->now());
  }
  void leave(const GateOutcome* outcome, TimePoint now);
  void withdraw();  // The work will not start.
  [[nodiscard]] GateRequest request_at(TimePoint now) const;
  [[nodiscard]] std::uint64_t& ticket(std::size_t gate) {
    return gate < few ? tickets_[gate] : more_tickets_[gate - few];
  }

  std::shared_ptr<const detail::GateList> gates_{};
  std::size_t passed_ = 0;  // The first ones of them.
  std::array<std::uint64_t, few> tickets_{};
  std::vector<std::uint64_t> more_tickets_{};
  std::string tool_{};
  std::string endpoint_{};
  std::string after_reason_{};
  FailureType after_ = FailureType::unknown;
  bool retry_ = false;
  TimePoint entered_{};
};

// Asks several gates in order. A value; copies share the gates.
class GateKeeper {
 public:
  GateKeeper() = default;
  // clock null: the machine's.
  explicit GateKeeper(std::vector<std::shared_ptr<Gate>> gates, std::shared_ptr<Clock> clock = {});

  // Passes all gates or none. Returns the first answer other than `pass`; sets `permit` on `pass`.
  // Fills in request.now and request.wall.
  [[nodiscard]] GateAnswer enter(GateRequest request, Permit& permit) const;
  // The same; `now` was just read from the gates' clock.
  [[nodiscard]] GateAnswer enter(GateRequest request, Permit& permit, TimePoint now) const;
  [[nodiscard]] bool empty() const noexcept { return gates_ == nullptr; }

 private:
  std::shared_ptr<const detail::GateList> gates_{};  // Null: none.
};

}  // namespace triage::inline v0_1
