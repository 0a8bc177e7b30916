// SPDX-License-Identifier: MIT
#pragma once
// Spreads calls so that the other side need not refuse them.

#include "triage/gate.hpp"
#include "triage/key_space.hpp"

#include <chrono>
#include <memory>
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
  int burst = 1;  // So many may start at once after a pause. 1 to 1,000,000.
  Duration max_wait = std::chrono::minutes(1);  // Who would wait longer is refused. 0 or more.
  std::shared_ptr<KeySpace> shared{};           // One rate for all processes. Null: this one's.
};

// After a failure with `rate_limited`, nothing passes until the other side's retry_after is over.
// Source: GCRA, ITU-T I.371, as "leaky bucket as a meter".
// Thread-safety: all members may be called from several threads at once.
class RateLimiter final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<RateLimiter>> create(RateLimiterOptions options = {});
  ~RateLimiter() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "rate_limiter"; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;

 private:
  explicit RateLimiter(RateLimiterOptions options);

  RateLimiterOptions options_;
  std::unique_ptr<detail::KeyedStates<detail::ArrivalTime>> arrivals_;
};

}  // namespace triage::inline v0_1
