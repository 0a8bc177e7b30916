// SPDX-License-Identifier: MIT
#pragma once
// Random numbers derived from their purpose, so that they do not depend on the order of calls.

#include "triage/detail/fnv1a.hpp"

#include <cstdint>

namespace triage::inline v0_1::lab::detail {

// Source: SplitMix64's finaliser, G. Steele et al., 2014.
[[nodiscard]] constexpr std::uint64_t scrambled(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31U);
}

[[nodiscard]] constexpr std::uint64_t joined(std::uint64_t hash, std::uint64_t bits) noexcept {
  return scrambled(hash + 0x9e3779b97f4a7c15ULL + bits);
}

// The seed is scrambled first: its sum with a small number would be that of many other pairs, as
// of the next seed with the number before.
template <class... Bits>
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t seed, Bits... bits) noexcept {
  seed = scrambled(seed);
  ((seed = joined(seed, static_cast<std::uint64_t>(bits))), ...);
  return seed;
}

using triage::detail::fnv1a;

}  // namespace triage::inline v0_1::lab::detail
