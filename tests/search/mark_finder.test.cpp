// SPDX-License-Identifier: MIT
#include "search/mark_finder.hpp"

#include "support/catch.hpp"

#include "triage/clock.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace {

constexpr auto marks =
    std::to_array<std::string_view>({"Traceback", "\n\tat ", "#0 ", "ab", "\xE2\x80\x94 "});
constexpr triage::detail::MarkFinder finder(marks);
// The shortest has four bytes, so some are passed over unseen.
constexpr auto longer_marks =
    std::to_array<std::string_view>({"abTr", "rTba#", "\n\tr0", "0  #a", "bbbbb"});
constexpr triage::detail::MarkFinder longer_finder(longer_marks);

template <class Marks>
bool any_in(std::string_view text, const Marks& of) {
  return std::any_of(of.begin(), of.end(), [&](std::string_view mark) {
    return text.find(mark) != std::string_view::npos;
  });
}

}  // namespace

TEST_CASE("a mark is found wherever it stands", "[base]") {
  for (const std::string_view mark : marks) {
    const std::string whole(mark);
    INFO(whole);
    CHECK(finder.any_in(whole));
    CHECK(finder.any_in("x" + whole));
    CHECK(finder.any_in(whole + "x"));
    CHECK(finder.any_in(whole.substr(0, 1) + whole));  // After a partial match of itself.
    CHECK_FALSE(finder.any_in(whole.substr(0, whole.size() - 1)));
  }
  CHECK_FALSE(finder.any_in(""));
  CHECK_FALSE(finder.any_in("a"));
  CHECK_FALSE(finder.any_in("traceback, AB, #1 "));
}

TEST_CASE("marks are found exactly where a plain search finds one", "[base]") {
  const auto random = triage::seeded_random(5);
  constexpr std::string_view bytes = "abT#0 \n\tr\xE2\x80\x94";
  for (int round = 0; round < 5'000; ++round) {
    std::string text;
    for (std::size_t i = random->next() % 12; i > 0; --i) {
      text += bytes[random->next() % bytes.size()];
    }
    INFO(text);
    CHECK(finder.any_in(text) == any_in(text, marks));
  }
  int found = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = random->next() % 30; i > 0; --i) {
      text += random->next() % 8 == 0 ? std::string(longer_marks[random->next() % 5])
                                      : std::string(1, bytes[random->next() % 10]);
      if (random->next() % 8 == 0) text.pop_back();
    }
    INFO(text);
    const bool expected = any_in(text, longer_marks);
    REQUIRE(longer_finder.any_in(text) == expected);
    found += expected ? 1 : 0;
  }
  CHECK((found > 2'000 && found < 18'000));
}
