// SPDX-License-Identifier: MIT
#pragma once
// Names that only the library gives: its labels, keys of a state and key spaces. Not public API.

#include <string_view>

namespace triage::inline v0_1::detail {

inline constexpr std::string_view own_prefix = "triage/";

[[nodiscard]] constexpr bool is_reserved(std::string_view name) noexcept {
  return name.starts_with(own_prefix);
}

}  // namespace triage::inline v0_1::detail
