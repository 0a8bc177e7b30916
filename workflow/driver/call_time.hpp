// SPDX-License-Identifier: MIT
#pragma once
// The time of one call of a handler: ExecutorOptions::timeout, and idle_timeout, which begins anew
// with each sign of life.

#include "run/attempt_time.hpp"
#include "triage/clock.hpp"
#include "triage/workflow/executor.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

// Thread-safety: all members may be called from several threads at once.
class CallTime {
 public:
  // Both outlive it.
  CallTime(const ExecutorOptions& own, Clock& clock);
  CallTime(const CallTime&) = delete;
  CallTime& operator=(const CallTime&) = delete;

  // Empty: never. The first only counts the timeout.
  [[nodiscard]] std::optional<TimePoint> lasts_until() const;
  [[nodiscard]] std::optional<TimePoint> ends() const;
  void active();  // A sign of life.
  // The reason of the failure if it is over; empty: it is not.
  [[nodiscard]] std::string_view over() const;
  // Triggered when it is over, or by `cancelled`. The first call sets an alarm, which may cost a
  // thread.
  [[nodiscard]] std::stop_token token(const std::stop_token& cancelled);

 private:
  struct Told {
    explicit Told(const std::stop_token& cancelled) : either(cancelled, over.get_token()) {}
    std::stop_source over{};
    triage::detail::LinkedStop either;
    TimePoint until{};
    std::unique_ptr<Alarm> alarm{};  // Last, so that it never rings for destroyed members.
  };
  [[nodiscard]] bool is_limited() const noexcept;
  void arm(Told& told);

  const ExecutorOptions& own_;
  Clock& clock_;
  TimePoint begun_{};
  mutable std::mutex mutex_{};
  TimePoint active_{};  // When it was last active; under mutex_, like the next ones.
  bool was_idle_ = false;
  std::unique_ptr<Told> told_{};  // Constant once set, but its alarm. Last.
};

}  // namespace triage::inline v0_1::workflow::detail
