// SPDX-License-Identifier: MIT
#include "search/word_set.hpp"

#include "support/catch.hpp"

#include <array>
#include <string>

using triage::detail::WordSet;

TEST_CASE("a word of a set is found in any case, and no other word", "[base]") {
  static constexpr auto words = std::to_array<std::string_view>(
      {"error", "err", "sub-exception", "a", "can't", "x_y", "\xC3\xA9t\xC3\xA9"});
  static constexpr WordSet set(words);
  static_assert(set.find("ERR") == 1 && set.find("er") == set.none);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string capitals(words[i]);
    for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    CHECK(set.find(words[i]) == i);
    CHECK(set.find(capitals) == i);
    CHECK_FALSE(set.contains(std::string(words[i]) + "s"));
  }
  CHECK_FALSE(set.contains(""));
  CHECK_FALSE(set.contains("X-Y"));  // Only letters have a case: _ and - differ in more.
  CHECK_FALSE(set.contains("\xC3\x89t\xC3\xA9"));  // Letters that are not ASCII have none here.
  CHECK_FALSE(set.contains(std::string(10'000, 'a')));
}
