// SPDX-License-Identifier: MIT
#pragma once
// Guesses which name was meant, for error messages. Not public API.

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// The number of insertions, deletions, replacements and swaps of neighbours that turn a into b.
// Only the first 64 bytes count, which bounds the cost.
// Source: optimal string alignment distance (Damerau-Levenshtein without overlaps).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The name most similar to `wrong`, the first of equals; empty if none is similar.
[[nodiscard]] std::string_view nearest(std::string_view wrong,
                                       const std::vector<std::string>& names);

// "; did you mean "b"?", or nothing if none is similar.
[[nodiscard]] std::string meant_name(std::string_view wrong, const std::vector<std::string>& names);

// "; allowed are a, b, c", and "; did you mean "b"?" if there is a nearest.
[[nodiscard]] std::string allowed_names(std::string_view wrong,
                                        const std::vector<std::string>& names);

}  // namespace triage::inline v0_1::detail
