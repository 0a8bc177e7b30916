// SPDX-License-Identifier: MIT
// Mixes as values and in files: errors name the place and the allowed values.
#include "triage/lab/chaos.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using Catch::Matchers::ContainsSubstring;
using lab::Fault;

namespace {

std::string error_of(const char* json) {
  const auto mix = lab::fault_mix_from_json(Json::parse(json));
  return mix ? "" : mix.error().detail;
}

}  // namespace

TEST_CASE("a mix is the same after a way through a file", "[lab][mix]") {
  const lab::FaultMix mix{
      .name = "outage",
      .rules = {
          {.fault = Fault::latency, .site = "a", .rate = 0.5, .length = std::chrono::seconds(2)},
          {.fault = Fault::wrong_value, .tool = "t", .step = "s", .value = Json{{"x", 1}}},
          {.fault = Fault::clock_jump, .length = -std::chrono::hours(1)},
          {.from = 2, .to = 9, .at = {3, 4}, .types = {FailureType::timeout}}}};
  const auto read = lab::fault_mix_from_json(lab::to_json(mix));
  REQUIRE(read);
  CHECK(read.value() == mix);
}

TEST_CASE("a mistake in a mix is told with its place and what is allowed", "[lab][mix]") {
  CHECK(error_of(R"({"faults": [{"fault": "fails", "rate": 1.5}]})") ==
        ".faults[0].rate is 1.5; allowed is 0 to 1");
  CHECK_THAT(error_of(R"({"faults": [{"fault": "failes"}]})"),
             ContainsSubstring(".faults[0].fault is \"failes\"; allowed are throws, fails") &&
                 ContainsSubstring("did you mean \"fails\"?"));
  CHECK_THAT(error_of(R"({"faults": [{"fault": "fails", "types": ["tiemout"]}]})"),
             ContainsSubstring(".faults[0].types is \"tiemout\"") &&
                 ContainsSubstring("did you mean \"timeout\"?"));
  CHECK_THAT(error_of(R"({"faults": [{"fault": "fails"}, {"fault": "kill", "sit": "a"}]})"),
             ContainsSubstring(".faults[1].sit is not known") &&
                 ContainsSubstring("did you mean \"site\"?"));
  CHECK_THAT(error_of(R"({"faults": [{"fault": "latency"}]})"),
             ContainsSubstring(".faults[0].length is missing"));
  CHECK_THAT(error_of(R"({"faults": [{"fault": "fails", "length": "-2s"}]})"),
             ContainsSubstring(".faults[0].length is below zero"));
  CHECK_THAT(error_of(R"({"faults": [{"fault": "fails", "at": [0]}]})"),
             ContainsSubstring("the first visit is 1"));
  CHECK_THAT(error_of(R"({"faults": {}})"), ContainsSubstring(".faults must be a list"));
  CHECK_THAT(error_of(R"([])"), ContainsSubstring("must be an object"));
}

TEST_CASE("chaos with a wrong mix says so at every call", "[lab][mix]") {
  const lab::Chaos chaos{{.rules = {{.rate = 1.5}}}};
  const auto called = chaos.call("a", [] { return 1; });
  REQUIRE_FALSE(called);
  CHECK(called.error().code == Errc::invalid_argument);
  CHECK_THAT(called.error().detail, ContainsSubstring("rate is 1.5; allowed is 0 to 1"));
}

TEST_CASE("a swarm draws another mix for each seed, and the same one for the same", "[lab][mix]") {
  lab::FaultMix mix;
  for (int i = 0; i < 10; ++i) mix.rules.push_back({.site = std::to_string(i), .rate = 0.1});
  CHECK(lab::swarm(mix, 4) == lab::swarm(mix, 4));
  std::size_t rules = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const lab::FaultMix drawn = lab::swarm(mix, seed);
    CHECK(lab::check_fault_mix(drawn));
    rules += drawn.rules.size();
    for (const lab::FaultRule& rule : drawn.rules) {
      CHECK(rule.rate >= 0.0099);
      CHECK(rule.rate <= 0.3001);
    }
  }
  CHECK(rules > 400);
  CHECK(rules < 600);
}
