// SPDX-License-Identifier: MIT
#include "search/find_text.hpp"

#include "support/catch.hpp"
#include "triage/clock.hpp"

#include <string>

using namespace triage;
using detail::tell_the_same;
using detail::TextFinder;

TEST_CASE("a text is found as the standard library finds it", "[classifier][find_text]") {
  constexpr std::uint64_t seed = 20250811;
  INFO("seed " << seed);
  const auto random = seeded_random(seed);
  const auto some = [&](std::size_t most) {
    std::string text(random->next() % (most + 1), '\0');
    for (char& c : text) c = static_cast<char>("ab"[random->next() % 2]);
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = some(40);
    const std::string part = some(7);
    const bool found = text.find(part) != std::string::npos;
    REQUIRE(TextFinder(part).is_in(text) == found);
    std::string upper = text;
    for (char& c : upper) {
      if (random->next() % 2 == 0) c = static_cast<char>(c - 'a' + 'A');
    }
    REQUIRE(TextFinder(part, TextFinder::Case::ignored).is_in(upper) == found);
  }
}

TEST_CASE("the longer text is searched for the shorter one", "[classifier][find_text]") {
  CHECK(tell_the_same("step 4 failed: boom", "boom"));
  CHECK(tell_the_same("boom", "step 4 failed: boom"));
  CHECK_FALSE(tell_the_same("boom", "bang"));
  CHECK_FALSE(tell_the_same("", "bang"));
  const std::string filler(1U << 20U, 'x');
  CHECK(tell_the_same("boom " + filler, "boom"));
  CHECK(tell_the_same(filler + " boom", "boom"));
  CHECK_FALSE(tell_the_same(filler + " boom " + filler, "boom"));
}
