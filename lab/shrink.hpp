// SPDX-License-Identifier: MIT
#pragma once
// Delta debugging over a schedule.

#include "triage/lab/schedule.hpp"

#include <functional>

namespace triage::inline v0_1::lab::detail {

// A part of `whole` for which `holds` is true and of which nothing can be left out, as far as at
// most `limit` questions tell. `whole` itself is not asked about.
[[nodiscard]] Schedule shortest(Schedule whole, const std::function<bool(const Schedule&)>& holds,
                                int limit, int& tries);

}  // namespace triage::inline v0_1::lab::detail
