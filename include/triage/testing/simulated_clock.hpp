// SPDX-License-Identifier: MIT
#pragma once
// A clock that tests control: waits take no time and are recorded.

#include "triage/clock.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace triage::inline v0_1::testing {

// Both clocks start at a fixed time and move only by advance() and sleep_until().
// Thread-safety: all members may be called from several threads at once. A wait on one thread moves
// the time for all.
class SimulatedClock final : public Clock {
 public:
  static constexpr TimePoint start{std::chrono::hours(1)};
  static constexpr WallTime wall_start{std::chrono::sys_days{std::chrono::January / 1 / 2026}};

  [[nodiscard]] TimePoint now() override;
  [[nodiscard]] WallTime wall_now() override;
  // Advances to `when` (never backwards), records the wait and returns true. Returns false without
  // advancing if a stop was requested, before the wait or by on_wait; and false when an alarm on
  // the way requests it.
  bool sleep_until(TimePoint when, std::stop_token stop) override;
  // Rings on the thread that moves the time to `when`, or at once if that is past.
  [[nodiscard]] std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override;

  // Simulates that time passes. Not negative.
  void advance(Duration duration);
  // Called at the start of each wait, before time moves: for example to request a stop during one.
  void on_wait(std::function<void(TimePoint until)> callback);
  // The completed waits, oldest first; zero for those already due.
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
