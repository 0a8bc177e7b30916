// SPDX-License-Identifier: MIT
#pragma once
// Stops calling what keeps failing, and finds out by probes when it is well again.

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
  closed,     // Everything passes, outcomes are counted.
  open,       // Nothing passes until break_duration is over.
  half_open,  // A few probes pass; they decide.
};
[[nodiscard]] std::string_view to_string(BreakerState state) noexcept;

enum class BreakerMode : std::uint8_t { automatic, forced_open, forced_closed };

struct BreakerChange {
  std::string tool{};
  std::string endpoint{};
  FailureType type = FailureType::unknown;  // Whose circuit changed.
  BreakerState from = BreakerState::closed;
  BreakerState to = BreakerState::closed;
};

// Terms as in Polly, resilience4j and failsafe-go. Times are in whole milliseconds.
struct BreakerOptions {
  // A circuit for each; other failures are calls that did not fail in this way. 1 to 13 types.
  std::vector<FailureType> types{FailureType::external_fault, FailureType::timeout};
  Duration window = std::chrono::seconds(30);  // Sliding, in ten buckets. 10 ms or more.
  int minimum_calls = 10;     // In the window; below that it never opens. 1 or more.
  double failure_rate = 0.5;  // Opens at this share of failed calls, above 0 up to 1.
  // A call that took this long is slow, whether it failed or not; 0: no call is.
  Duration slow_call{0};
  double slow_rate = 1.0;  // Opens at this share of slow calls, above 0 up to 1.
  Duration break_duration = std::chrono::seconds(5);  // 1 ms or more.
  int probes = 3;  // Pass while half-open, in all; so many successes close it. 1 to 1,000.
  // Half-open never lasts longer: then it closes if a probe succeeded and none failed, and opens
  // again if none succeeded. 1 ms or more.
  Duration probe_lease = std::chrono::seconds(30);
  // While open, first tries pass and only retries are refused (a partial outage is no reason to
  // give up all work; source: M. Brooker, "Fixing retries with token buckets and circuit breakers",
  // 2022).
  bool retry_only = false;
  std::function<void(const BreakerChange&)> on_change{};  // Called without a lock held.
  std::shared_ptr<KeySpace> shared{};  // Circuits live there, for all processes. Null: here.
};

// Keyed by (tool, endpoint, failure type). Permits of a half-open circuit are leases: one that is
// never reported cannot keep it half-open.
// Thread-safety: all members may be called from several threads at once.
class CircuitBreaker final : public Gate {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value and what is allowed.
  [[nodiscard]] static Result<std::shared_ptr<CircuitBreaker>> create(BreakerOptions options = {});
  ~CircuitBreaker() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "circuit_breaker"; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override;
  void leave(const GateRequest& request, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override;

  // By hand, until it is set to automatic again; then the circuits begin closed.
  void force(const GateRequest& key, BreakerMode mode);
  // The state at request.now (request.wall if shared) of one type's circuit; of the worst one
  // without a type.
  [[nodiscard]] BreakerState state(const GateRequest& key,
                                   std::optional<FailureType> type = {}) const;

 private:
  explicit CircuitBreaker(BreakerOptions options);
  void tell(const GateRequest& key, const std::vector<BreakerChange>& changes) const noexcept;

  BreakerOptions options_;
  std::unique_ptr<detail::KeyedStates<detail::Circuit>> circuits_;
};

}  // namespace triage::inline v0_1
