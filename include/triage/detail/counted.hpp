// SPDX-License-Identifier: MIT
#pragma once
// A number with its noun, for messages. Not public API.

#include <concepts>
#include <string>
#include <string_view>

namespace triage::inline v0_1::detail {

// "1 attempt", "2 attempts"; "2 deliveries" where the plural is given.
[[nodiscard]] std::string counted(std::integral auto number, std::string_view noun,
                                  std::string_view plural = {}) {
  std::string text = std::to_string(number);
  text += ' ';
  if (number == 1) return text += noun;
  if (!plural.empty()) return text += plural;
  text += noun;
  return text += 's';
}

}  // namespace triage::inline v0_1::detail
