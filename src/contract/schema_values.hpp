// SPDX-License-Identifier: MIT
#pragma once
// Compares and measures JSON values the way JSON Schema does. Private.

#include "contract/schema_nodes.hpp"

#include <cstddef>
#include <string>

namespace triage::inline v0_1::detail {

// Bits of TypeBit. A number without a fraction is an integer, except in draft 4.
[[nodiscard]] unsigned types_of(const Json& value, Draft draft);

// A total order in which 1 equals 1.0 and no integer is rounded: -1, 0 or 1. JSON's operator<
// converts integers to double to compare them with doubles, so it is not transitive beyond 2^53.
[[nodiscard]] int order_of(const Json& a, const Json& b);

// Sorts: each part of the array is compared O(log n) times on average.
[[nodiscard]] bool are_unique(const Json& array);

// `divisor` is above 0. Tolerates rounding: 0.0075 is a multiple of 0.0001.
[[nodiscard]] bool is_multiple(const Json& number, const Json& divisor);

[[nodiscard]] std::size_t code_points(const std::string& text);

// The size of a value: its members and items at all levels, and each 64 bytes of a text or a name.
// The value has passed check_json.
[[nodiscard]] std::size_t parts_of(const Json& value);
[[nodiscard]] inline std::size_t text_parts(const std::string& text) { return text.size() / 64; }

// As JSON text, cut at this many bytes.
[[nodiscard]] std::string shortened(const Json& json, std::size_t longest);

}  // namespace triage::inline v0_1::detail
