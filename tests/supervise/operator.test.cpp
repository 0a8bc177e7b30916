// SPDX-License-Identifier: MIT
// What an operator asks: what ran, what waits, why it went so, and what is decided.
#include "supervise/running.hpp"

#include "support/catch.hpp"

using namespace triage;
using namespace triage::test;

namespace {

Json json_of(const Printed& printed) {
  INFO(printed.out << printed.error);
  Json document = Json::parse(printed.out, nullptr, false);
  REQUIRE(document.is_object());
  return document;
}

}  // namespace

TEST_CASE("runs and explain tell what happened, and why", "[run][operator]") {
  const Workshop shop;
  CHECK(shop.run({"--run", "a", "--label", "nightly"}, {"true"}).status == 0);
  CHECK(shop.run({"--run", "b", "--max-attempts", "1"},
                 {"sh", "-c", "echo 'HTTP 503 overloaded' >&2; exit 1"})
            .status == 1);
  CHECK_THAT(shop.triage({"runs"}).out, ContainsSubstring("nightly"));
  const Json runs = json_of(shop.triage({"runs", "--json", "--status", "escalated"}));
  REQUIRE(runs["runs"].size() == 1);
  CHECK(runs["runs"][0]["id"] == "b");
  CHECK_THAT(runs["runs"][0]["what"].get<std::string>(), ContainsSubstring("sh -c"));
  const Printed told = shop.triage({"explain", "b"});
  CHECK(told.status == 0);
  CHECK_THAT(told.out, ContainsSubstring("external_fault"));
  CHECK_THAT(told.out, ContainsSubstring("    - "));
  CHECK_THAT(told.out, ContainsSubstring("limits.max_attempts (1)"));
  CHECK(json_of(shop.triage({"explain", "b", "--json"}))["attempts"] == 1);
  CHECK(shop.triage({"explain", "nobody"}).status == 1);
  CHECK(shop.triage({"runs", "--status", "odd"}).status == 2);
}

TEST_CASE("a run that waits for a decision is listed, and a token decides it once",
          "[run][operator]") {
  const Workshop shop;
  std::ofstream(shop.file("p.json"))
      << R"({"default": {"strategy": "suspend", "message": "Look."}})";
  const Printed printed = shop.run({"--run", "r", "--policy", shop.file("p.json")},
                                   {"sh", "-c", "echo x; [ $TRIAGE_ATTEMPT -gt 1 ]"});
  CHECK(printed.status == 75);
  const std::size_t at = printed.error.find("triage decide ");
  REQUIRE(at != std::string::npos);
  const std::string token = printed.error.substr(at + 14, 64);
  const Json waiting = json_of(shop.triage({"suspended", "--json"}));
  REQUIRE(waiting["suspended"].size() == 1);
  CHECK(waiting["suspended"][0]["run"] == "r");
  CHECK(waiting["suspended"][0]["message"] == "Look.");
  CHECK(shop.triage({"decide", token, "dance"}).status == 2);
  CHECK(shop.triage({"decide", token, "retry", "go on", "--who", "ana"}).status == 0);
  CHECK(shop.triage({"decide", token, "retry"}).status == 1);
  CHECK(json_of(shop.triage({"suspended", "--json"}))["suspended"].empty());
  CHECK_THAT(shop.triage({"explain", "r"}).out, ContainsSubstring("by ana"));
}
