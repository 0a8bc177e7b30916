// SPDX-License-Identifier: MIT
#include "call_time.hpp"
#include "triage/detail/later.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

using triage::detail::later;

CallTime::CallTime(const ExecutorOptions& own, Clock& clock) : own_(own), clock_(clock) {
  if (is_limited()) begun_ = active_ = clock.now();
}

bool CallTime::is_limited() const noexcept {
  return own_.timeout > Duration::zero() || own_.idle_timeout > Duration::zero();
}

std::optional<TimePoint> CallTime::lasts_until() const {
  if (own_.timeout == Duration::zero()) return std::nullopt;
  return later(begun_, own_.timeout);
}

std::optional<TimePoint> CallTime::ends() const {
  if (own_.idle_timeout == Duration::zero()) return lasts_until();
  const std::scoped_lock lock(mutex_);
  return triage::detail::earlier(lasts_until(), later(active_, own_.idle_timeout));
}

std::string_view CallTime::over() const {
  if (!is_limited()) return {};
  const TimePoint now = clock_.now();
  if (own_.idle_timeout > Duration::zero()) {
    const std::scoped_lock lock(mutex_);
    if (was_idle_ || now >= later(active_, own_.idle_timeout)) return "idle_timeout";
  }
  const auto until = lasts_until();
  return until && now >= *until ? "deadline" : std::string_view();
}

void CallTime::active() {
  if (own_.idle_timeout == Duration::zero()) return;
  const TimePoint now = clock_.now();
  Told* told = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    was_idle_ |= now >= later(active_, own_.idle_timeout);
    active_ = std::max(active_, now);
    told = told_.get();
  }
  if (told != nullptr) arm(*told);
}

std::stop_token CallTime::token(const std::stop_token& cancelled) {
  if (!is_limited()) return cancelled;
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = told_ == nullptr;
    if (first) told_ = std::make_unique<Told>(cancelled);
  }
  if (first) arm(*told_);
  return told_->either.token();
}

// Unlocked, because stop callbacks may come back here: of this token, or of others whose alarms the
// clock rings meanwhile.
void CallTime::arm(Told& told) {
  if (told.over.stop_requested()) return;
  const auto ring = [this, &told] {
    if (!over().empty()) told.over.request_stop();
  };
  ring();
  const TimePoint until = ends().value_or(TimePoint::max());
  if (until == TimePoint::max() || told.over.stop_requested()) return;
  std::unique_ptr<Alarm> alarm = clock_.alarm(until, ring);
  const std::scoped_lock lock(mutex_);  // Not held when the other alarm goes, which may be ringing.
  if (until < told.until) return;
  told.until = until;
  std::swap(told.alarm, alarm);
}

}  // namespace triage::inline v0_1::workflow::detail
