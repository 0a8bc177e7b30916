// SPDX-License-Identifier: MIT
#pragma once
// Spaces out calls so that the other side does not have to refuse them.

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
  int permits = 10;                           // Per period and (tool, endpoint). 1 or more.
  Duration period = std::chrono::seconds(1);  // 1 ms or more.
  // Starts allowed at once after a pause; they count like others. Capped at `permits`. 1 to
  // 1,000,000.
  int burst = 1;
  Duration max_wait = std::chrono::minutes(1);  // A longer wait is refused instead. 0 or more.
  std::shared_ptr<KeySpace> shared{};           // One rate for all processes. Null: for this one.
};

// No interval of length `period` contains more than `permits` starts: in one process whatever its
// wall clock does, and across processes that share a key space as far as their wall clocks agree. A
// stored time further ahead than any start can be is the work of a wrong clock and is ignored.
// Starts are spread evenly; a burst comes first, and the others wait for it. The newest permit is
// returned if a later gate refuses. After a `rate_limited` failure nothing passes until the other
// side's retry_after is over. Source: GCRA, ITU-T I.371, as "leaky bucket as a meter"; with a burst
// also a sliding window.
// Thread-safety: all members may be called from several threads at once.
class RateLimiter final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<RateLimiter>> create(RateLimiterOptions options = {});
  ~RateLimiter() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "rate_limiter"; }
  [[nodiscard]] bool needs_wall_time() const noexcept override {
    return options_.shared != nullptr;
  }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;
  void withdraw(const GateRequest& request, std::uint64_t ticket) noexcept override;

 private:
  using Arrivals = detail::KeyedStates<detail::ArrivalTime>;
  explicit RateLimiter(RateLimiterOptions options);
  // 0: it may start.
  std::int64_t enter_shared(const GateRequest& request, std::uint64_t ticket);

  RateLimiterOptions options_;
  std::unique_ptr<Arrivals> arrivals_;  // For this process, by its monotonic clock …
  std::unique_ptr<Arrivals> shared_;    // … and for all, by the wall clock; may be null.
  std::atomic<std::uint64_t> tickets_{0};
};

}  // namespace triage::inline v0_1
