// SPDX-License-Identifier: MIT
#pragma once
// Which errors of a store may be gone at the next try.

#include "triage/result.hpp"

namespace triage::inline v0_1::detail {

[[nodiscard]] constexpr bool may_pass(Errc code) noexcept {
  return code == Errc::io || code == Errc::busy;
}

}  // namespace triage::inline v0_1::detail
