// SPDX-License-Identifier: MIT
#pragma once
// Time and randomness, injected so that a run is a function of its seed.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

namespace triage::inline v0_1 {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::sys_time<std::chrono::milliseconds>;  // UTC; informative only.

// A call scheduled for a time; destroying this cancels it. The destructor waits for a call in
// progress.
class Alarm {
 public:
  virtual ~Alarm() = default;
};

// Thread-safety: all members may be called from several threads at once.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic time, for deadlines and waits.
  [[nodiscard]] virtual TimePoint now() = 0;
  // Calendar time, stored in records for people. Never used for ordering.
  [[nodiscard]] virtual WallTime wall_now() = 0;
  // Returns true at `when`, or false as soon as a stop is requested.
  virtual bool sleep_until(TimePoint when, std::stop_token stop) = 0;
  // Calls `ring` once at `when`, on another thread or on the one that moves the time. It must
  // neither throw nor destroy the alarm. The default uses a thread in sleep_until per alarm, and
  // returns null if none can be created. The clock must outlive the alarm.
  [[nodiscard]] virtual std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring);
};

// The machine's clocks. Never null; always the same object (it has no state).
[[nodiscard]] const std::shared_ptr<Clock>& real_clock();

// A source of uniformly distributed 64-bit numbers for jitter and run ids.
// Thread-safety: next() may be called from several threads at once.
class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
};

// Seeded by the operating system. Never null.
[[nodiscard]] const std::shared_ptr<Random>& real_random();

// Deterministic: equal seeds give equal numbers on every machine.
// Source: SplitMix64, G. Steele et al., "Fast splittable pseudorandom number generators", 2014.
[[nodiscard]] std::shared_ptr<Random> seeded_random(std::uint64_t seed);

// A number in [0, 1) from 64 random bits.
[[nodiscard]] constexpr double unit_interval(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace triage::inline v0_1
