// SPDX-License-Identifier: MIT
#pragma once
// Delta debugging over a schedule.

#include "triage/lab/schedule.hpp"

#include <functional>

namespace triage::inline v0_1::lab::detail {

// A part of `whole` for which `holds` is true and from which nothing more can be left out, as far
// as `limit` tries show. `whole` itself is not tried.
[[nodiscard]] Schedule shortest(Schedule whole, const std::function<bool(const Schedule&)>& holds,
                                int limit, int& tries);

}  // namespace triage::inline v0_1::lab::detail
