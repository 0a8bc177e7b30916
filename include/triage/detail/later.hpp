// SPDX-License-Identifier: MIT
#pragma once
// Points in time that a length away may lie beyond the end of the clock. Not public API.

#include "triage/clock.hpp"
#include "triage/detail/saturate.hpp"

#include <chrono>

namespace triage::inline v0_1::detail {

// The end of time at the latest: a limit of a hundred years, as users may give one, is not in the
// past.
[[nodiscard]] inline TimePoint later(TimePoint from, Duration by) noexcept {
  return TimePoint(Duration(saturating_add(from.time_since_epoch().count(), by.count())));
}

// Rounded up to milliseconds; what they cannot express becomes their largest or smallest time.
template <class Resolution>
[[nodiscard]] WallTime wall_time_of(std::chrono::sys_time<Resolution> when) {
  using Wide = std::chrono::duration<long double, WallTime::period>;
  const Wide wide = when.time_since_epoch();
  if (wide >= Wide(WallTime::duration::max())) return WallTime::max();
  if (wide <= Wide(WallTime::duration::min())) return WallTime::min();
  return std::chrono::ceil<WallTime::duration>(when);
}

}  // namespace triage::inline v0_1::detail
