// SPDX-License-Identifier: MIT
#pragma once
// Reads fields of JSON from outside, whose types are not trusted: a field of another type, or with
// a number that T cannot hold, counts as absent. Not public API.

#include "triage/clock.hpp"
#include "triage/json.hpp"

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Whether an integer can hold the number, less its fraction: converting a floating-point one that
// it cannot is undefined.
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

// T is bool, a number, std::string, or std::vector<Json>.
template <class T>
[[nodiscard]] bool is_a(const Json& value) {
  if constexpr (std::same_as<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::integral<T>) {
    return holds<T>(value);
  } else if constexpr (std::floating_point<T>) {
    return value.is_number();
  } else if constexpr (std::same_as<T, std::string>) {
    return value.is_string();
  } else {
    static_assert(std::same_as<T, std::vector<Json>>);
    return value.is_array();
  }
}

// Empty if the body is no object, too.
template <class T>
[[nodiscard]] std::optional<T> find_field(const Json& body, const char* key) {
  if (!body.is_object()) return std::nullopt;
  const auto found = body.find(key);
  if (found == body.end() || !is_a<T>(*found)) return std::nullopt;
  return found->template get<T>();
}

template <class T>
[[nodiscard]] T field(const Json& body, const char* key, T otherwise) {
  auto found = find_field<T>(body, key);
  return found ? *std::move(found) : std::move(otherwise);
}

[[nodiscard]] inline std::string text_field(const Json& body, const char* key) {
  return field(body, key, std::string());
}

// Milliseconds since 1970.
[[nodiscard]] inline std::optional<WallTime> time_field(const Json& body, const char* key) {
  const auto time = find_field<std::int64_t>(body, key);
  if (!time) return std::nullopt;
  return WallTime(std::chrono::milliseconds(*time));
}

// The texts of a list.
[[nodiscard]] inline std::vector<std::string> names_field(const Json& body, const char* key) {
  std::vector<std::string> names;
  for (const Json& name : field(body, key, std::vector<Json>())) {
    if (name.is_string()) names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace triage::inline v0_1::detail
