// SPDX-License-Identifier: MIT
#include "triage/detail/stored_field.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::detail;

TEST_CASE("a field that is no text counts as none", "[fields]") {
  CHECK(text_field({{"name", "fetch"}}, "name") == "fetch");
  CHECK(text_field({{"name", 3}}, "name").empty());
  CHECK(text_field({{"name", "fetch"}}, "other").empty());
  CHECK(text_field(Json("name"), "name").empty());
  CHECK(text_field(Json::array({"name"}), "name").empty());
}

TEST_CASE("a stored number that its field cannot hold is none", "[fields]") {
  const auto read = [](const Json& number, auto otherwise) {
    return field(Json{{"n", number}}, "n", otherwise);
  };
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(read(5, 7) == 5);
  CHECK(read(5.0, 7) == 5);
  CHECK(read(-2147483648.0, 7) == std::numeric_limits<int>::min());
  CHECK(read(2147483648.0, 7) == 7);
  CHECK(read(2147483648, 7) == 7);
  CHECK(read(-1e300, 7) == 7);
  CHECK(read(std::numeric_limits<double>::quiet_NaN(), 7) == 7);
  CHECK(read(9223372036854775808.0, largest) == largest);
  CHECK(read(9223372036854775807U, std::int64_t{7}) == largest);
  CHECK(read(9223372036854775808U, std::int64_t{7}) == 7);
  CHECK(read(-1, std::uint64_t{7}) == 7);
  CHECK(read(-0.5, std::uint64_t{7}) == 7);
  CHECK(read(18446744073709551616.0, std::uint64_t{7}) == 7);
  CHECK(read(true, 7) == 7);
  CHECK(read(true, false));
}

TEST_CASE("a stored field of another type is none", "[fields]") {
  const Json body{{"flag", 1}, {"number", true}, {"text", 3}, {"list", "x"}, {"time", 1e300}};
  CHECK_FALSE(find_field<bool>(body, "flag"));
  CHECK_FALSE(find_field<double>(body, "number"));
  CHECK_FALSE(find_field<std::string>(body, "text"));
  CHECK_FALSE(find_field<std::vector<Json>>(body, "list"));
  CHECK_FALSE(time_field(body, "time"));
  CHECK(names_field(body, "list").empty());
  CHECK(field(body, "text", std::string("other")) == "other");
  CHECK(field(Json(nullptr), "number", 7) == 7);
  CHECK(field(Json::array({7}), "number", 8) == 8);
}

TEST_CASE("times are whole milliseconds, and names the texts of a list", "[fields]") {
  const Json body{{"time", -5}, {"late", 18446744073709551615U}, {"names", {"a", 1, "b"}}};
  CHECK(time_field(body, "time") == WallTime(std::chrono::milliseconds(-5)));
  CHECK_FALSE(time_field(body, "late"));
  CHECK(names_field(body, "names") == std::vector<std::string>{"a", "b"});
}
