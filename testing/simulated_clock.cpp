// SPDX-License-Identifier: MIT
#include "triage/testing/simulated_clock.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace triage::inline v0_1::testing {

TimePoint SimulatedClock::now() {
  const std::scoped_lock lock(mutex_);
  return now_;
}

WallTime SimulatedClock::wall_now() {
  const std::scoped_lock lock(mutex_);
  return wall_start + std::chrono::floor<std::chrono::milliseconds>(now_ - start);
}

bool SimulatedClock::sleep_until(TimePoint when, std::stop_token stop) {
  std::function<void(TimePoint)> callback;
  {
    const std::scoped_lock lock(mutex_);
    callback = on_wait_;
  }
  if (stop.stop_requested()) return false;
  if (callback) callback(when);  // Without the lock: it may look at the clock.
  if (stop.stop_requested()) return false;
  const std::scoped_lock lock(mutex_);
  const TimePoint end = std::max(now_, when);
  waits_.push_back(end - now_);
  now_ = end;
  return true;
}

void SimulatedClock::advance(Duration duration) {
  const std::scoped_lock lock(mutex_);
  // Time stands still at its end instead of overflowing.
  now_ += std::clamp(duration, Duration::zero(), TimePoint::max() - now_);
}

void SimulatedClock::on_wait(std::function<void(TimePoint)> callback) {
  const std::scoped_lock lock(mutex_);
  on_wait_ = std::move(callback);
}

std::vector<Duration> SimulatedClock::waits() const {
  const std::scoped_lock lock(mutex_);
  return waits_;
}

Duration SimulatedClock::waited() const {
  const std::scoped_lock lock(mutex_);
  return std::accumulate(waits_.begin(), waits_.end(), Duration::zero());
}

Duration SimulatedClock::elapsed() const {
  const std::scoped_lock lock(mutex_);
  return now_ - start;
}

}  // namespace triage::inline v0_1::testing
