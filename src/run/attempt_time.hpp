// SPDX-License-Identifier: MIT
#pragma once
// The time limit of one attempt: its end, and who is notified.

#include "run/linked_stop.hpp"
#include "triage/clock.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>

namespace triage::inline v0_1::detail {

// Null: no end.
[[nodiscard]] inline std::optional<TimePoint> earlier(std::optional<TimePoint> a,
                                                      std::optional<TimePoint> b) noexcept {
  return a && b ? std::min(a, b) : a ? a : b;
}

class AttemptTime {
 public:
  // `run`: the token that cancels the run.
  AttemptTime(Clock& clock, TimePoint until, const std::stop_token& run)
      : until_(until), either_(run, over_.get_token()) {
    if (clock.now() >= until) {
      over_.request_stop();
    } else {
      alarm_ = clock.alarm(until, [this] { over_.request_stop(); });
    }
  }
  [[nodiscard]] TimePoint until() const noexcept { return until_; }
  // Triggered when the time is over, or the run is cancelled.
  [[nodiscard]] const std::stop_token& token() const noexcept { return either_.token(); }

 private:
  TimePoint until_;
  std::stop_source over_{};
  LinkedStop either_;
  std::unique_ptr<Alarm> alarm_{};  // Last, so that it never rings for destroyed members.
};

}  // namespace triage::inline v0_1::detail
