// SPDX-License-Identifier: MIT
#pragma once
// The clock of executors: one that sleeps by it lends its place among the run's threads, and wakes
// when the run is to begin nothing more.

#include "definition/halt.hpp"
#include "run/linked_stop.hpp"
#include "triage/clock.hpp"
#include "work.hpp"

#include <memory>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

// Thread-safety: all members may be called from several threads at once. `work` outlives it.
class LendingClock final : public Clock {
 public:
  // halt: null if nobody can ask for one.
  LendingClock(std::shared_ptr<Clock> inner, Work& work, const Halt* halt)
      : inner_(std::move(inner)), work_(work), halt_(halt) {}

  [[nodiscard]] TimePoint now() override { return inner_->now(); }
  [[nodiscard]] WallTime wall_now() override { return inner_->wall_now(); }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    const Lent lent(work_);
    if (halt_ == nullptr) return inner_->sleep_until(when, std::move(stop));
    const triage::detail::LinkedStop either(stop, halt_->waits());
    return inner_->sleep_until(when, either.token());
  }
  [[nodiscard]] std::unique_ptr<Alarm> alarm(TimePoint when, std::function<void()> ring) override {
    return inner_->alarm(when, std::move(ring));
  }

 private:
  const std::shared_ptr<Clock> inner_;
  Work& work_;
  const Halt* const halt_;
};

}  // namespace triage::inline v0_1::workflow::detail
