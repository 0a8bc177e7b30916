// SPDX-License-Identifier: MIT
#include "lab/simulation/shrink.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace triage::inline v0_1::lab::detail {
namespace {

Schedule without(const Schedule& whole, std::size_t begin, std::size_t end) {
  Schedule rest(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), whole.begin() + static_cast<std::ptrdiff_t>(end), whole.end());
  return rest;
}

}  // namespace

Schedule shortest(Schedule whole, const std::function<bool(const Schedule&)>& holds, int limit,
                  int& tries) {
  // Tries leaving out halves of the schedule, then smaller parts, down to single injections.
  std::size_t part = std::max<std::size_t>(1, whole.size());
  while (!whole.empty() && tries < limit) {
    bool shortened = false;
    for (std::size_t begin = 0; begin < whole.size() && tries < limit;) {
      Schedule rest = without(whole, begin, std::min(begin + part, whole.size()));
      ++tries;
      if (holds(rest)) {
        whole = std::move(rest);
        shortened = true;
      } else {
        begin += part;
      }
    }
    if (part > 1) {
      part = (part + 1) / 2;
    } else if (!shortened) {
      break;
    }
  }
  return whole;
}

}  // namespace triage::inline v0_1::lab::detail
