// SPDX-License-Identifier: MIT
// Hashes, hexadecimal digits, percent signs, times and lists: ids and stored bytes depend on some.
#include "base/percent.hpp"
#include "support/catch.hpp"
#include "triage/detail/fnv1a.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/utc_text.hpp"
#include "triage/taxonomy.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::detail;

TEST_CASE("the hash of a text is FNV-1a, and goes on where it stopped", "[texts]") {
  // From the authors' test vectors.
  STATIC_REQUIRE(fnv1a("") == 0xcbf29ce484222325U);
  STATIC_REQUIRE(fnv1a("a") == 0xaf63dc4c8601ec8cU);
  STATIC_REQUIRE(fnv1a("foobar") == 0x85944171f73967e8U);
  STATIC_REQUIRE(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
}

TEST_CASE("bytes become two lower-case digits each, and nothing else is read back", "[texts]") {
  const std::string bytes("\x00\x0f\xf0zA\xff", 6);
  CHECK(to_hex(bytes) == "000ff07a41ff");
  CHECK(from_hex("000ff07a41ff") == bytes);
  CHECK(from_hex("") == "");
  for (const char* bad : {"0", "000", "0g", "g0", "0F", " 0", "0x", "-1"}) {
    INFO(bad);
    CHECK_FALSE(from_hex(bad));
  }
}

TEST_CASE("a number has as many digits as wanted, the last ones", "[texts]") {
  CHECK(hex_number(0) == "0000000000000000");
  CHECK(hex_number(0xcbf29ce484222325U) == "cbf29ce484222325");
  CHECK(hex_number(0xabcU, 8) == "00000abc");
  CHECK(hex_number(0x123456789U, 8) == "23456789");
}

TEST_CASE("%XX is a byte; a percent sign alone is kept or refused", "[texts]") {
  CHECK(percent_decoded("a%20b%2Fc%2f%00", Malformed::refuse) == std::string("a b/c/\0", 7));
  CHECK(percent_decoded("", Malformed::refuse) == "");
  CHECK(percent_decoded("%2541", Malformed::refuse) == "%41");
  for (const char* bad : {"%", "a%4", "%4", "%g1", "%1g", "%-1", "%+1", "% 1", "%%4"}) {
    INFO(bad);
    CHECK_FALSE(percent_decoded(bad, Malformed::refuse));
    CHECK(percent_decoded(bad, Malformed::keep) == bad);
  }
  CHECK(percent_decoded("%%41%", Malformed::keep) == "%A%");
}

TEST_CASE("times in UTC are rounded down, also before 1970", "[texts]") {
  const auto at = [](std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); };
  constexpr const char* form = "%Y-%m-%dT%H:%M:%S";
  CHECK(utc_text(at(1'700'000'000'999), form) == "2023-11-14T22:13:20");
  CHECK(utc_text_ms(at(1'700'000'000'042), form) == "2023-11-14T22:13:20.042");
  CHECK(utc_text_ms(at(-1), form) == "1969-12-31T23:59:59.999");
  CHECK(utc_text_ms(at(-1'000), form) == "1969-12-31T23:59:59.000");
  CHECK(utc_text(std::chrono::sys_seconds::max(), form).empty());
}

TEST_CASE("a list has a comma between its parts, whatever they are", "[texts]") {
  using Names = std::vector<std::string>;
  CHECK(joined(Names{}).empty());
  CHECK(joined(Names{"a"}) == "a");
  CHECK(joined(Names{"a", "", "c"}) == "a, , c");
  CHECK(joined(std::array{"a", "b"}) == "a, b");
  CHECK(joined(std::vector<int>{1, -2}) == "1, -2");
  CHECK(joined(std::array{FailureType::timeout, FailureType::unknown}) == "timeout, unknown");
  CHECK(joined(Names{"a", "b"}, {}, "->") == "a->b");
  CHECK(joined(Names{"a", "bcd"}, [](const std::string& name) { return name + "!"; }) ==
        "a!, bcd!");
  CHECK(joined(std::map<std::string, int>{{"a", 1}, {"b", 2}},
               &std::pair<const std::string, int>::first) == "a, b");
}
