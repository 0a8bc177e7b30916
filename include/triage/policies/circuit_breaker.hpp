// SPDX-License-Identifier: MIT
#pragma once
// Stops calls that keep failing, and probes whether they work again.

#include "triage/gate.hpp"
#include "triage/key_space.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1 {

namespace detail {
struct Circuit;
template <class State>
class KeyedStates;
}  // namespace detail

enum class BreakerState : std::uint8_t {
  closed,     // Calls pass, outcomes are counted.
  open,       // No call passes until break_duration is over.
  half_open,  // A few probes pass; they decide.
};
[[nodiscard]] std::string_view to_string(BreakerState state) noexcept;

enum class BreakerMode : std::uint8_t { automatic, forced_open, forced_closed };

struct BreakerChange {
  std::string tool{};
  std::string endpoint{};
  FailureType type = FailureType::unknown;  // The type whose circuit changed.
  BreakerState from = BreakerState::closed;
  BreakerState to = BreakerState::closed;
};

// Terms as in Polly, resilience4j and failsafe-go. Times are in whole milliseconds.
struct BreakerOptions {
  // One circuit each; to it, failures of other types are calls that did not fail. 1 to 13 types.
  std::vector<FailureType> types{FailureType::external_fault, FailureType::timeout};
  Duration window = std::chrono::seconds(30);  // Sliding, in ten buckets. 10 ms or more.
  int minimum_calls = 10;                      // In the window; never opens below it. 1 or more.
  double failure_rate = 0.5;  // Opens at this share of failed calls; above 0, at most 1.
  // A call that takes this long is slow, failed or not; 0: none is.
  Duration slow_call{0};
  double slow_rate = 1.0;  // Opens at this share of slow calls; above 0, at most 1.
  Duration break_duration = std::chrono::seconds(5);  // 1 ms or more.
  int probes = 3;  // Calls that pass while half-open; as many successes close it. 1 to 1,000.
  // The longest half-open time; then it closes if a probe succeeded and none failed, and opens
  // again if none succeeded. 1 ms or more.
  Duration probe_lease = std::chrono::seconds(30);
  // While open, lets first attempts pass and refuses only retries (a partial outage should not stop
  // all work; source: M. Brooker, "Fixing retries with token buckets and circuit breakers", 2022).
  bool retry_only = false;
  std::function<void(const BreakerChange&)> on_change{};  // Called without holding a lock.
  std::shared_ptr<KeySpace> shared{};  // Keeps circuits for all processes. Null: this object.
};

// Keyed by (tool, endpoint, failure type). A half-open circuit's permits are leases: one that is
// never reported cannot keep it half-open.
// Thread-safety: all members may be called from several threads at once.
class CircuitBreaker final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<CircuitBreaker>> create(BreakerOptions options = {});
  ~CircuitBreaker() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "circuit_breaker"; }
  [[nodiscard]] bool needs_wall_time() const noexcept override {
    return options_.shared != nullptr;
  }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;

  // Manual override, until set to automatic again; the circuits then start closed.
  void force(const GateRequest& key, BreakerMode mode);
  // The state of one type's circuit at request.now (request.wall if shared); without a type, the
  // worst state.
  [[nodiscard]] BreakerState state(const GateRequest& key,
                                   std::optional<FailureType> type = {}) const;

 private:
  explicit CircuitBreaker(BreakerOptions options);
  void tell(const GateRequest& key, const std::vector<BreakerChange>& changes) const noexcept;

  BreakerOptions options_;
  std::unique_ptr<detail::KeyedStates<detail::Circuit>> circuits_;
};

}  // namespace triage::inline v0_1
