// SPDX-License-Identifier: MIT
#pragma once
// Letters without a locale. Private.

namespace triage::inline v0_1::detail {

// A to Z in lower case; every other byte as it is.
[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace triage::inline v0_1::detail
