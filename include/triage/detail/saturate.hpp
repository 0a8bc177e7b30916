// SPDX-License-Identifier: MIT
#pragma once
// Sums that stop at the largest or smallest value instead of overflowing. Not public API.

#include <concepts>
#include <limits>

namespace triage::inline v0_1::detail {

template <std::integral T>
[[nodiscard]] constexpr T saturating_add(T a, T b) noexcept {
  T sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <std::integral T>
[[nodiscard]] constexpr T saturating_subtract(T a, T b) noexcept {
  T difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
}

}  // namespace triage::inline v0_1::detail
