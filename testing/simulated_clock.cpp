// SPDX-License-Identifier: MIT
#include "triage/testing/simulated_clock.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace triage::inline v0_1::testing {

struct SimulatedClock::Pending {
  TimePoint when{};
  std::function<void()> ring{};
  std::mutex ringing{};  // Held during the call.
  bool over = false;     // Rung, or cancelled.
};

class SimulatedClock::Unset final : public Alarm {
 public:
  explicit Unset(std::shared_ptr<Pending> pending) : pending_(std::move(pending)) {}
  ~Unset() override {
    const std::scoped_lock lock(pending_->ringing);
    pending_->over = true;
  }

 private:
  std::shared_ptr<Pending> pending_;
};

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
  if (callback) callback(when);  // Unlocked, because it may use the clock.
  if (stop.stop_requested()) return false;
  const TimePoint begun = now();
  const TimePoint end = std::max(begun, when);
  for (bool there = false; !there;) {
    {
      const std::scoped_lock lock(mutex_);
      TimePoint next = end;
      for (const auto& one : alarms_) next = std::min(next, std::max(one->when, begun));
      there = next == end;
      now_ = std::max(now_, next);
    }
    ring_due();
    if (stop.stop_requested()) return false;
  }
  const std::scoped_lock lock(mutex_);
  waits_.push_back(end - begun);
  return true;
}

std::unique_ptr<Alarm> SimulatedClock::alarm(TimePoint when, std::function<void()> ring) {
  auto pending = std::make_shared<Pending>();
  pending->when = when;
  pending->ring = std::move(ring);
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(alarms_, [](const auto& one) { return one.use_count() == 1; });
    alarms_.push_back(pending);
  }
  ring_due();
  return std::make_unique<Unset>(std::move(pending));
}

// Unlocked, because callbacks may use the clock.
void SimulatedClock::ring_due() {
  std::vector<std::shared_ptr<Pending>> due;
  {
    const std::scoped_lock lock(mutex_);
    const auto first = std::stable_partition(alarms_.begin(), alarms_.end(),
                                             [&](const auto& one) { return one->when > now_; });
    due.assign(first, alarms_.end());
    alarms_.erase(first, alarms_.end());
  }
  for (const auto& one : due) {
    const std::scoped_lock lock(one->ringing);
    if (!std::exchange(one->over, true)) one->ring();
  }
}

void SimulatedClock::advance(Duration duration) {
  {
    const std::scoped_lock lock(mutex_);
    // Stops at its maximum instead of overflowing.
    now_ += std::clamp(duration, Duration::zero(), TimePoint::max() - now_);
  }
  ring_due();
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
