// SPDX-License-Identifier: MIT
#pragma once
// The words around names. Private.

#include <cstdint>
#include <string_view>

namespace triage::inline v0_1::detail {

// The roles a word can have beside a name.
enum NameRole : std::uint16_t {
  noun = 1,       // "tool": a name may follow or be meant.
  about = 2,      // "call", "arguments": after the noun; what follows is not a name.
  link = 4,       // "named", "the": between noun and name.
  verdict = 8,    // "is", "not", "does": after a name in a statement about it.
  denial = 16,    // "unknown", "no", "such": before the noun.
  listing = 32,   // "available", "valid": before a list of what exists.
  calling = 64,   // "called", "requested": a name follows.
  joining = 128,  // "and", "or": between the items of a list.
  pronoun = 256,  // "it", "this": not a name.
  thing = 512,    // "resource", "key": a name may follow that cannot be a word.
  absent = 1024,  // "found", "exist": "tool not found: " may stand before a name.
  fault = 2048,   // "error", "reason": what follows is no name, but says why.
  taking = 4096,  // "takes", "got": after a function in a statement about its arguments.
};

// The roles of a word, ignoring case; 0 if it has none.
[[nodiscard]] std::uint16_t name_roles(std::string_view word) noexcept;

}  // namespace triage::inline v0_1::detail
