// SPDX-License-Identifier: MIT
#pragma once
// A text that stands in a JSON object. Not public API.

#include "triage/json.hpp"

#include <string>

namespace triage::inline v0_1::detail {

// Empty if this is no object, or holds no text under that key.
[[nodiscard]] inline std::string text_field(const Json& object, const char* key) {
  const auto found = object.find(key);  // The end of what is no object.
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace triage::inline v0_1::detail
