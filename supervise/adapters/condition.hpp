// SPDX-License-Identifier: MIT
#pragma once
// Places in a JSON value, and conditions on them.

#include "triage/json.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::supervise {

// Object keys and array indexes, outermost first.
using Path = std::vector<std::string>;

// Parses a path such as "message.content.0".
[[nodiscard]] Path parse_path(std::string_view text);
// The value at a path; null if there is none.
[[nodiscard]] const Json* find(const Json& value, const Path& path);

struct Condition {
  // has: it is a text, or a list with one, that contains one of the values.
  enum class Kind : std::uint8_t { one_of, none_of, has, present, absent };
  Path path{};
  Kind kind = Kind::one_of;
  std::vector<Json> values{};
};

[[nodiscard]] bool holds(const Condition& condition, const Json& value);
[[nodiscard]] bool all_hold(const std::vector<Condition>& conditions, const Json& value);

}  // namespace triage::inline v0_1::supervise
