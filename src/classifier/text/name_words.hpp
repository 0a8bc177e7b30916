// SPDX-License-Identifier: MIT
#pragma once
// The words around names. Private.

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// What a word may be at its place.
enum NameRole : std::uint16_t {
  noun = 1,       // "tool": a name may follow or be meant.
  about = 2,      // "call", "arguments": what follows the noun then is not a name.
  link = 4,       // "named", "the": between noun and name.
  verdict = 8,    // "is", "not", "does": behind a name that is spoken of.
  denial = 16,    // "unknown", "no", "such": in front of the noun.
  listing = 32,   // "available", "valid": in front of what there is.
  calling = 64,   // "called", "requested": a name follows.
  joining = 128,  // "and", "or": between the items of a list.
  pronoun = 256,  // "it", "this": no name.
};

// The roles of a word, in any case; 0 for one that has none.
[[nodiscard]] std::uint16_t name_roles(std::string_view word) noexcept;

}  // namespace triage::inline v0_1::detail
