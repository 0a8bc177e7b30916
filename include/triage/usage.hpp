// SPDX-License-Identifier: MIT
#pragma once
// What an agent spent: tokens, money, calls.

#include "triage/detail/saturate.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace triage::inline v0_1 {

// Sums saturate at the largest value: an overflow never makes the usage seem smaller.
struct Usage {
  std::uint64_t input_tokens = 0;
  std::uint64_t output_tokens = 0;
  double cost_usd = 0.0;  // US dollars; finite, not negative.
  std::uint64_t calls = 1;

  [[nodiscard]] std::uint64_t tokens() const noexcept {
    return detail::saturating_add(input_tokens, output_tokens);
  }
  Usage& operator+=(const Usage& other) noexcept {
    input_tokens = detail::saturating_add(input_tokens, other.input_tokens);
    output_tokens = detail::saturating_add(output_tokens, other.output_tokens);
    cost_usd = std::min(cost_usd + other.cost_usd, std::numeric_limits<double>::max());
    calls = detail::saturating_add(calls, other.calls);
    return *this;
  }
  friend bool operator==(const Usage&, const Usage&) = default;
};

}  // namespace triage::inline v0_1
