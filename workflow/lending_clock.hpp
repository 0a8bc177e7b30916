// SPDX-License-Identifier: MIT
#pragma once
// The clock of executors: one that sleeps by it lends its place among the run's threads.

#include "triage/clock.hpp"
#include "work.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

// Thread-safety: all members may be called from several threads at once. `work` outlives it.
class LendingClock final : public Clock {
 public:
  LendingClock(std::shared_ptr<Clock> inner, Work& work) : inner_(std::move(inner)), work_(work) {}

  [[nodiscard]] TimePoint now() override { return inner_->now(); }
  [[nodiscard]] WallTime wall_now() override { return inner_->wall_now(); }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    work_.lend();
    const bool slept = inner_->sleep_until(when, std::move(stop));
    work_.take_back();
    return slept;
  }
  [[nodiscard]] std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override {
    return inner_->alarm(when, std::move(ring));
  }

 private:
  const std::shared_ptr<Clock> inner_;
  Work& work_;
};

}  // namespace triage::inline v0_1::workflow::detail
