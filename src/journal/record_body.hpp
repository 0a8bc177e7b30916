// SPDX-License-Identifier: MIT
#pragma once
// Reads fields of a stored body, whose types are not trusted.

#include "triage/json.hpp"

namespace triage::inline v0_1::detail {

// The field, or `otherwise` if it is missing or of another type.
template <class T>
[[nodiscard]] T field(const Json& body, const char* key, T otherwise) {
  if (!body.is_object()) return otherwise;
  const auto found = body.find(key);
  if (found == body.end()) return otherwise;
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    return otherwise;
  }
}

}  // namespace triage::inline v0_1::detail
