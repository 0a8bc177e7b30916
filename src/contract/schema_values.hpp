// SPDX-License-Identifier: MIT
#pragma once
// Compares JSON values the way JSON Schema does. Private.

#include "contract/schema_nodes.hpp"

#include <cstddef>
#include <string>

namespace triage::inline v0_1::detail {

// Bits of TypeBit. A number without a fraction is an integer, except in draft 4.
[[nodiscard]] unsigned types_of(const Json& value, Draft draft);

// A total order in which 1 equals 1.0 and no integer is rounded: -1, 0 or 1. JSON's operator<
// converts integers to double to compare them with doubles, so it is not transitive beyond 2^53.
[[nodiscard]] int order_of(const Json& a, const Json& b);

// O(n log n) comparisons.
[[nodiscard]] bool are_unique(const Json& array);

// `divisor` is above 0. Tolerates rounding: 0.0075 is a multiple of 0.0001.
[[nodiscard]] bool is_multiple(const Json& number, const Json& divisor);

[[nodiscard]] std::size_t code_points(const std::string& text);

}  // namespace triage::inline v0_1::detail
