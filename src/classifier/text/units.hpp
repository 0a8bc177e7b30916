// SPDX-License-Identifier: MIT
#pragma once
// Units of durations and sizes behind numbers. Private.

#include "classifier/text/tokens.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

struct Unit {
  std::string_view name;
  std::uint32_t mark;
};
inline constexpr std::uint32_t duration_mark = mark_hash("<duration>");
inline constexpr std::uint32_t size_mark = mark_hash("<size>");
inline constexpr std::array<Unit, 26> known_units{{
    {"s", duration_mark},      {"sec", duration_mark},
    {"secs", duration_mark},   {"ms", duration_mark},
    {"m", duration_mark},      {"min", duration_mark},
    {"mins", duration_mark},   {"h", duration_mark},
    {"us", duration_mark},     {"ns", duration_mark},
    {"second", duration_mark}, {"seconds", duration_mark},
    {"minute", duration_mark}, {"minutes", duration_mark},
    {"hour", duration_mark},   {"hours", duration_mark},
    {"kb", size_mark},         {"mb", size_mark},
    {"gb", size_mark},         {"kib", size_mark},
    {"mib", size_mark},        {"gib", size_mark},
    {"b", size_mark},          {"bytes", size_mark},
    {"byte", size_mark},       {"milliseconds", duration_mark},
}};

// The mark of a unit in lower case, such as "ms"; 0 if it is none.
[[nodiscard]] constexpr std::uint32_t unit_mark(std::string_view name) noexcept {
  for (const Unit& unit : known_units) {
    if (unit.name == name) return unit.mark;
  }
  return 0;
}

}  // namespace triage::inline v0_1::detail
