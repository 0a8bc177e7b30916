// SPDX-License-Identifier: MIT
#pragma once
// Guesses which name was meant.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::cli {

// The number of insertions, deletions and replacements that turn a into b (Levenshtein).
[[nodiscard]] std::size_t letters_between(std::string_view a, std::string_view b);

inline constexpr std::size_t longest_typo = 64;
inline constexpr std::size_t least_unlike = 3;  // More than two wrong letters are not a typo.

// "; did you mean "NAME"?", or nothing if none of them is like it.
[[nodiscard]] std::string meant_name(std::string_view given, const std::vector<std::string>& names);

}  // namespace triage::inline v0_1::cli
