// SPDX-License-Identifier: MIT
#include "records/reads.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow::detail;

namespace {

std::vector<Read> read_back(const Json& stored) { return reads_from(Parts(), stored); }

}  // namespace

TEST_CASE("what was read comes back in its order", "[workflow][reads]") {
  const std::vector<Read> reads{{"s|team|", "b", "1"},
                                {"s|team|", "a", "2"},
                                {"i|", "key", ""},
                                {"m|ann", "", "3"},
                                {"s|team|", "c", "4"}};
  const std::vector<Read> back = read_back(list_of_reads(reads));
  REQUIRE(back.size() == reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    CHECK(back[i].scope == reads[i].scope);
    CHECK(back[i].key == reads[i].key);
    CHECK(back[i].digest == reads[i].digest);
  }
  CHECK(read_back(list_of_reads({})).empty());
}

TEST_CASE("what an earlier version recorded as read is understood", "[workflow][reads]") {
  const std::vector<Read> back = read_back({{"7:p|boardopen", "1"}, {"i|7:a", "2"}});
  REQUIRE(back.size() == 2);
  CHECK(back[0].scope == "p|board");
  CHECK(back[0].key == "open");
  CHECK(back[1].scope == "i|");
  CHECK(back[1].key == "7:a");
  CHECK(back[1].digest == "2");
}

TEST_CASE("damaged lists of what was read are refused", "[workflow][reads]") {
  for (const char* damaged :
       {"1", "null", "\"a\"", R"(["key","1"])", R"([["x|y"],"key","1"])", R"([["p|a"],"key"])",
        R"([["p|a"],"key",1])", R"([["p|a"],1,"1"])", R"([[],"key","1"])", R"([[1],"key","1"])",
        R"({"":"unknown"})", R"({"9:p|a":"1"})", R"({"x":"1"})", R"({"3:p|akey":1})",
        R"({":p|a":"1"})", R"({"3:x|akey":"1"})"}) {
    INFO(damaged);
    CHECK_THROWS_AS(read_back(Json::parse(damaged)), std::exception);
  }
}
