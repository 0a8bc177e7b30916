// SPDX-License-Identifier: MIT
#pragma once
// A clock that tests move: waiting takes no time, and every wait is on record.

#include "triage/clock.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace triage::inline v0_1::testing {

// Both clocks start at a fixed time and move only by advance() and sleep_until().
// Thread-safety: all members may be called from several threads at once. A wait of one thread moves
// the time of all.
class SimulatedClock final : public Clock {
 public:
  static constexpr TimePoint start{std::chrono::hours(1)};
  static constexpr WallTime wall_start{std::chrono::sys_days{std::chrono::January / 1 / 2026}};

  [[nodiscard]] TimePoint now() override;
  [[nodiscard]] WallTime wall_now() override;
  // Advances to `when` (never backwards), notes the wait and returns true. Returns false without
  // advancing if a stop was requested, before the wait or by on_wait; and false when an alarm on
  // the way requests it.
  bool sleep_until(TimePoint when, std::stop_token stop) override;
  // Rings on the thread that moves the time to `when`, or at once if it is that late already.
  [[nodiscard]] std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override;

  // Not negative. As if an attempt had taken this long.
  void advance(Duration duration);
  // Called at the beginning of each wait, before time moves: to request a stop in the middle of
  // one.
  void on_wait(std::function<void(TimePoint until)> callback);
  // The waits that ended in time, oldest first; zero for those that were due already.
  [[nodiscard]] std::vector<Duration> waits() const;
  [[nodiscard]] Duration waited() const;   // Their sum.
  [[nodiscard]] Duration elapsed() const;  // Since `start`.

 private:
  struct Pending;
  class Unset;
  void ring_due();

  mutable std::mutex mutex_;
  TimePoint now_ = start;
  std::vector<Duration> waits_;
  std::function<void(TimePoint)> on_wait_;
  std::vector<std::shared_ptr<Pending>> alarms_;
};

}  // namespace triage::inline v0_1::testing
