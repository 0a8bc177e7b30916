// SPDX-License-Identifier: MIT
#pragma once
// Points in time that a length away may lie beyond the end of the clock. Not public API.

#include "triage/clock.hpp"
#include "triage/detail/saturate.hpp"

namespace triage::inline v0_1::detail {

// The end of time at the latest: a limit of a hundred years, as users may give one, is not in the
// past.
[[nodiscard]] inline TimePoint later(TimePoint from, Duration by) noexcept {
  return TimePoint(Duration(saturating_add(from.time_since_epoch().count(), by.count())));
}

}  // namespace triage::inline v0_1::detail
