// SPDX-License-Identifier: MIT
#pragma once
// Reads fields of a stored body, whose types are not trusted.

#include "triage/json.hpp"

#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

namespace triage::inline v0_1::detail {

// Whether an integer can hold the number: converting a floating-point one that it cannot is
// undefined.
template <std::integral T>
[[nodiscard]] bool holds(const Json& number) {
  if (number.is_number_unsigned()) return std::in_range<T>(number.get<std::uint64_t>());
  if (number.is_number_integer()) return std::in_range<T>(number.get<std::int64_t>());
  if (!number.is_number_float()) return false;
  constexpr int bits = std::numeric_limits<T>::digits;
  const double value = number.get<double>();
  const double beyond = 2.0 * static_cast<double>(T{1} << (bits - 1));
  return value < beyond && value >= static_cast<double>(std::numeric_limits<T>::min());
}

// The field, or `otherwise` if it is missing, of another type, or more than that can hold.
template <class T>
[[nodiscard]] T field(const Json& body, const char* key, T otherwise) {
  if (!body.is_object()) return otherwise;
  const auto found = body.find(key);
  if (found == body.end()) return otherwise;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (!holds<T>(*found)) return otherwise;
  }
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    return otherwise;
  }
}

}  // namespace triage::inline v0_1::detail
