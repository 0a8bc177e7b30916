// SPDX-License-Identifier: MIT
#pragma once
// Finds unknown members and repeated names in a plan or patch. Private.

#include "triage/detail/nearest.hpp"
#include "triage/json.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Says which member of the object is not among the allowed ones, and which of them was perhaps
// meant: a misspelt one would do nothing. Empty: there is none. what: the object's name.
[[nodiscard]] inline std::optional<std::string> unknown_member(
    const Json& object, const std::string& what, const std::vector<std::string>& allowed) {
  for (auto one = object.begin(); one != object.end(); ++one) {
    if (std::find(allowed.begin(), allowed.end(), one.key()) != allowed.end()) continue;
    return what + " has a member \"" + printable(one.key()) + "\"" +
           triage::detail::allowed_names(one.key(), allowed);
  }
  return std::nullopt;
}

// A name that a list has twice; of several, the first by their letters.
[[nodiscard]] inline std::optional<std::string> named_twice(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? std::nullopt : std::optional(*twice);
}

}  // namespace triage::inline v0_1::workflow::detail
