// SPDX-License-Identifier: MIT
#pragma once
// Spreads calls so that the other side need not refuse them.

#include "triage/gate.hpp"
#include "triage/key_space.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

namespace detail {
struct ArrivalTime;
template <class State>
class KeyedStates;
}  // namespace detail

struct RateLimiterOptions {
  int permits = 10;                           // In each period, per (tool, endpoint). 1 or more.
  Duration period = std::chrono::seconds(1);  // 1 ms or more.
  // So many may start at once after a pause; they count as any others. More than `permits` is as
  // many. 1 to 1,000,000.
  int burst = 1;
  Duration max_wait = std::chrono::minutes(1);  // Who would wait longer is refused. 0 or more.
  std::shared_ptr<KeySpace> shared{};           // One rate for all processes. Null: this one's.
};

// No period, wherever it begins, has more than `permits` starts: not in a process, whatever its
// wall clock does, and not in all that share a key space, as far as their wall clocks agree. A
// stored time that is further ahead than a start can be comes from a clock that is wrong, and is
// not believed. Starts are spread evenly; those of a burst come first, and the others wait for
// them. The newest permit is given back if a later gate refuses. After a failure with
// `rate_limited`, nothing passes until the other side's retry_after is over. Source: GCRA, ITU-T
// I.371, as "leaky bucket as a meter"; with a burst also a sliding window. Thread-safety: all
// members may be called from several threads at once.
class RateLimiter final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<RateLimiter>> create(RateLimiterOptions options = {});
  ~RateLimiter() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "rate_limiter"; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;
  void withdraw(const GateRequest& request, std::uint64_t ticket) noexcept override;

 private:
  using Arrivals = detail::KeyedStates<detail::ArrivalTime>;
  explicit RateLimiter(RateLimiterOptions options);
  // 0: it may start.
  std::int64_t enter_shared(const GateRequest& request, const std::string& key,
                            std::uint64_t ticket);

  RateLimiterOptions options_;
  std::unique_ptr<Arrivals> arrivals_;  // Of this process, on its monotonic clock …
  std::unique_ptr<Arrivals> shared_;    // … and of all, on the wall clock; null: none.
  std::atomic<std::uint64_t> tickets_{0};
};

}  // namespace triage::inline v0_1
