// SPDX-License-Identifier: MIT
#pragma once
// The starts of one key under a rate as a pure state machine: no clock, no lock. Private.

#include "keyed_states.hpp"
#include "triage/json.hpp"
#include "triage/policies/rate_limiter.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace triage::inline v0_1::detail {

// Nanoseconds.
struct Rate {
  // shared: that clock has whole milliseconds, so a period measured with it is one longer.
  Rate(const RateLimiterOptions& options, bool shared);

  std::int64_t period;
  std::int64_t permits;
  std::int64_t interval;   // Between two starts at the full rate …
  std::int64_t tolerance;  // … and how far ahead of it a burst may be.
  bool bursts;             // The starts of a period are counted too.
};

// GCRA spreads the starts: `theoretical` is when the next one is due at the full rate. With a burst
// this alone would admit `burst - 1` too many in a period, so the starts of the last period are
// kept too. Merged ones count until the newest of them is a period old. Times are nanoseconds on
// one clock.
struct ArrivalTime {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t most_starts = 64;  // Kept individually.

  struct Starts {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t count = 0;
  };

  std::int64_t theoretical = never;
  std::int64_t blocked_until = never;
  std::int64_t blocked_at = never;
  std::vector<Starts> starts{};  // Oldest first.
  // Local to this process.
  std::int64_t busy_until = never;  // Then it equals a new state.
  std::uint64_t admitted = 0;       // Number of the newest start; 0: none can be withdrawn.
  std::int64_t elsewhere = never;   // The shared state's `theoretical` after it.

  // Returns 0 if it may start now, which is recorded, else how long to wait.
  [[nodiscard]] std::int64_t enter(const Rate& rate, std::int64_t now);
  // The newest start did not take place.
  void withdraw(const Rate& rate);
  void block(std::int64_t now, std::int64_t until);

  static constexpr bool in_common = true;  // Such keys share one rate.
  [[nodiscard]] Loss loss(std::int64_t now) const {
    return busy_until > now ? Loss::promise : Loss::nothing;
  }
  [[nodiscard]] Json to_json() const;
  [[nodiscard]] static ArrivalTime from_json(const Json& json);

 private:
  void doubt_the_future(const Rate& rate, std::int64_t now);
  [[nodiscard]] std::int64_t wait_for_window(const Rate& rate, std::int64_t now);
  void note(const Rate& rate, std::int64_t now);
};

}  // namespace triage::inline v0_1::detail
