// SPDX-License-Identifier: MIT
#include "triage/json.hpp"

#include "support/result.hpp"

#include <limits>

using namespace triage;
using namespace triage::test;

namespace {

Json nested(int levels, bool objects) {
  Json value = "leaf";
  for (int i = 1; i < levels; ++i) {
    Json outer = objects ? Json::object() : Json::array();
    if (objects) {
      outer["k"] = std::move(value);
    } else {
      outer.push_back(std::move(value));
    }
    value = std::move(outer);
  }
  return value;
}

}  // namespace

TEST_CASE("JSON of depth 256 is taken, 257 is refused, and 200,000 does not crash", "[json]") {
  const bool objects = GENERATE(true, false);
  REQUIRE_OK(check_json(nested(257, objects), "it"));  // 256 levels around a leaf.
  const auto refused = check_json(nested(258, objects), "the thing");
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("the thing") && ContainsSubstring("256"));
  CHECK_ERRC(Errc::invalid_argument, check_json(nested(200'000, objects), "it"));
}

TEST_CASE("numbers that are not finite are refused where state is concerned", "[json]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Json& value : {Json(nan), Json::array({1, {{"x", nan}}}), Json{{"a", {{"b", nan}}}}}) {
    const auto refused = check_json(value, "state");
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("NaN"));
    REQUIRE_OK(check_json(value, "tool output", NonFinite::allowed));
  }
  CHECK_THAT(check_json(Json(-infinity), "state").error().detail, ContainsSubstring("infinity"));
  REQUIRE_OK(check_json(Json(std::numeric_limits<double>::max()), "state"));
}

TEST_CASE("binary and discarded values are refused", "[json]") {
  CHECK_ERRC(Errc::invalid_argument, check_json(Json::binary({1}), "it"));
  CHECK_ERRC(Errc::invalid_argument, check_json(Json{{"a", Json::binary({1})}}, "it"));
  CHECK_ERRC(Errc::invalid_argument, check_json(Json::parse("{", nullptr, false), "it"));
}

TEST_CASE("text that is not UTF-8 is shown escaped and never throws", "[json]") {
  CHECK(show(Json("caf\xc3\xa9")) == "\"caf\xc3\xa9\"");
  CHECK_THAT(show(Json("caf\xe9")), ContainsSubstring("\\xe9"));
  CHECK_THAT(show(Json{{"\xff", {"\xfe"}}}), ContainsSubstring("xff") && ContainsSubstring("xfe"));
  CHECK(show(Json{{"a", 1}}) == R"({"a":1})");
  CHECK(show(Json{{"a", 1}}, 2) == "{\n  \"a\": 1\n}");
  CHECK_FALSE(show(nested(200'000, false)).empty());
  CHECK(show(Json::parse("{", nullptr, false)) == "<no JSON>");
}

TEST_CASE("printable text has no control characters and only valid UTF-8", "[json]") {
  CHECK(printable("plain caf\xc3\xa9 \xf0\x9f\x98\x80") == "plain caf\xc3\xa9 \xf0\x9f\x98\x80");
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable("\x1b[31m\x7f") == "\\x1b[31m\\x7f");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                  // Overlong.
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");         // Surrogate.
  CHECK(printable("\xf4\x90\x80\x80").substr(0, 4) == "\\xf4");  // Beyond U+10FFFF.
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");                  // Cut off.
  CHECK(printable("").empty());
}
