// SPDX-License-Identifier: MIT
#pragma once
// What the words of a step say of themselves: that something is assumed, that others shall do it.
// Private.

#include <cstdint>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

[[nodiscard]] bool speaks_of_assuming(std::string_view text);  // Made-up or typical values.
[[nodiscard]] bool does_by_hand(std::string_view text);        // What a tool should do.
[[nodiscard]] bool asks_others(std::string_view text);
[[nodiscard]] bool closes_talk(std::string_view text);     // Agrees, or says that all is done.
[[nodiscard]] bool notes_stall(std::string_view text);     // Notes: no progress, or in a loop.
[[nodiscard]] bool tells_raised(std::string_view output);  // A traceback, an exit status, "Error:".
[[nodiscard]] bool shows_page(std::string_view text);      // As browsing agents tell it.
[[nodiscard]] bool had_nothing_to_do(std::string_view output);
// A tool that changes something, judging from its name alone: "cancel_order", "db.deleteRow".
[[nodiscard]] bool name_says_change(std::string_view tool);

// Hashes of the distinct words that say something, rising: of four letters or more, and numbers.
[[nodiscard]] std::vector<std::uint64_t> distinct_words(std::string_view text);
// The same of what stands out as an answer: numbers, and what is bold, quoted or code.
[[nodiscard]] std::vector<std::uint64_t> marked_words(std::string_view text);

}  // namespace triage::inline v0_1::detail
