// SPDX-License-Identifier: MIT
#pragma once
// A hash of text for ids, keys and seeds, which stay the same for ever. Not public API.
// Source: FNV-1a with 64 bits, G. Fowler, L. Noll, K.-P. Vo.

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

inline constexpr std::uint64_t fnv1a_start = 0xcbf29ce484222325U;

// `hash`: of what stands before this text.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::string_view text,
                                            std::uint64_t hash = fnv1a_start) noexcept {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace triage::inline v0_1::detail
