// SPDX-License-Identifier: MIT
#pragma once
// Which of some names was probably meant, and how errors list names. Private.

#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// How many insertions, deletions, replacements and swaps of neighbours lead from a to b. Only the
// first 64 bytes count, so that the cost is bounded.
// Source: optimal string alignment distance (Damerau-Levenshtein without overlaps).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The name most like `wrong`, if it is like it at all; else empty. The first of equals.
[[nodiscard]] std::string_view nearest(std::string_view wrong,
                                       const std::vector<std::string>& names);

// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string>& names);

// "; allowed are a, b, c", and "; did you mean "b"?" if there is a nearest.
[[nodiscard]] std::string allowed_names(std::string_view wrong,
                                        const std::vector<std::string>& names);

// The names of RecoveryAction::Kind.
[[nodiscard]] const std::vector<std::string>& action_names();

}  // namespace triage::inline v0_1::detail
