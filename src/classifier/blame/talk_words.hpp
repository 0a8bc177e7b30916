// SPDX-License-Identifier: MIT
#pragma once
// What a step's wording reveals: that something is assumed, that others should do it. Private.

#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

[[nodiscard]] std::string_view trimmed(std::string_view text);  // Without blanks around it.
[[nodiscard]] bool speaks_of_assuming(std::string_view text);   // Made-up or typical values.
[[nodiscard]] bool speaks_of_guessing(std::string_view text);   // From memory, without a source.
[[nodiscard]] bool does_by_hand(std::string_view text);         // Instead of with a tool.
[[nodiscard]] bool asks_others(std::string_view text);
[[nodiscard]] bool closes_talk(std::string_view text);     // Agrees, or says that all is done.
[[nodiscard]] bool tells_raised(std::string_view output);  // A traceback, an exit status, "Error:".
[[nodiscard]] bool shows_page(std::string_view text);      // In the formats of browsing agents.
[[nodiscard]] bool had_nothing_to_do(std::string_view output);
// Whether a tool changes something, judging by its name alone: "cancel_order", "db.deleteRow".
[[nodiscard]] bool name_says_change(std::string_view tool);

// Hashes of the distinct meaningful words, ascending: words of four or more letters, and numbers.
[[nodiscard]] std::vector<std::uint64_t> distinct_words(std::string_view text);
// What follows the last "final answer" of a text; empty if there is none.
[[nodiscard]] std::string_view stated_answer(std::string_view text);
[[nodiscard]] bool shows_search(std::string_view text);  // A page of results of a search.
[[nodiscard]] bool tells_to_open(std::string_view text);
// Says something besides what was clicked, and the page that was shown.
[[nodiscard]] bool says_of_its_own(std::string_view text);
// The same for what stands out as an answer: numbers, and bold, quoted or code text.
[[nodiscard]] std::vector<std::uint64_t> marked_words(std::string_view text);

}  // namespace triage::inline v0_1::detail
