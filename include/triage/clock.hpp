// SPDX-License-Identifier: MIT
#pragma once
// Time and randomness as the library sees them: injected, so that a run is a function of its seed.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

namespace triage::inline v0_1 {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC; for people only.

// A call that will be made at a time, unless this is destroyed before. The destructor waits for the
// call if it is under way.
class Alarm {
 public:
  virtual ~Alarm() = default;
};

// Thread-safety: all members may be called from several threads at once.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic time; deadlines and waits are measured with it.
  [[nodiscard]] virtual TimePoint now() = 0;
  // Calendar time; stored beside records for people. Nothing is ordered by it.
  [[nodiscard]] virtual WallTime wall_now() = 0;
  // Returns true at `when`, or false as soon as a stop is requested.
  virtual bool sleep_until(TimePoint when, std::stop_token stop) = 0;
  // Calls `ring`, once, when it is `when`; on another thread, or on the one that moves the time. It
  // must neither throw nor destroy the alarm. The default has a thread in sleep_until for each
  // alarm, and returns null if there can be none. The clock outlives the alarm.
  [[nodiscard]] virtual std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring);
};

// The machine's own clocks. Never null; the same object every time (it has no state).
[[nodiscard]] const std::shared_ptr<Clock>& real_clock();

// A source of uniformly distributed 64-bit numbers: jitter and run ids draw from it.
// Thread-safety: next() may be called from several threads at once.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
};

// Seeded by the operating system. Never null.
[[nodiscard]] const std::shared_ptr<Random>& real_random();

// Same seed, same numbers, on every machine.
// Source: SplitMix64, G. Steele et al., "Fast splittable pseudorandom number generators", 2014.
[[nodiscard]] std::shared_ptr<Random> seeded_random(std::uint64_t seed);

// A number in [0, 1) from 64 random bits.
[[nodiscard]] constexpr double unit_interval(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace triage::inline v0_1
