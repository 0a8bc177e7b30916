// SPDX-License-Identifier: MIT
// Mixes as values and in files: errors name the place and the allowed values.
#include "triage/lab/chaos.hpp"

#include "support/catch.hpp"

#include <map>
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

TEST_CASE("a mix for a proxy is refused if no request can meet one of its faults", "[lab][mix]") {
  const auto problem_of = [](lab::FaultRule rule) {
    const auto checked = lab::check_proxy_mix({.rules = {{}, std::move(rule)}});
    return checked ? std::string("none") : checked.error().detail;
  };
  const std::string path = ".faults[1].";
  CHECK(problem_of({.fault = Fault::store_outage}) ==
        path + "fault is store_outage, which no request can meet");
  CHECK(problem_of({.fault = Fault::clock_jump, .length = std::chrono::seconds(1)}) ==
        path + "fault is clock_jump, which no request can meet");
  CHECK(problem_of({.fault = Fault::wrong_value, .tool = "CONNECT"}) ==
        path + "fault is wrong_value, which no CONNECT can meet: https passes through unread");
  CHECK(problem_of({.rate = 0}) == path + "rate is 0: it never happens; allowed is more");
  CHECK(problem_of({.step = "x"}) == path + "step is \"x\", and requests have none");
  for (const char* site : {"host:18711", "http://host", "host/v1", "http://host:80/v1"}) {
    CHECK(problem_of({.site = site}) ==
          path + "site is \"" + site + "\"; allowed is the host alone, \"host\"");
  }
  for (const char* tool : {"search", "/v1", "GET /v1?k=1"}) {
    CHECK_THAT(problem_of({.tool = tool}), ContainsSubstring("allowed are \"METHOD /path\""));
  }
  CHECK(problem_of({.fault = Fault::wrong_value, .value = 7}) ==
        path + "value is 7; allowed is the name of a tool");
  CHECK(problem_of({.rate = 1.5}) == path + "rate is 1.5; allowed is 0 to 1");
  CHECK_THAT(lab::check_proxy_mix({}).error().detail, ContainsSubstring(".faults is empty"));
  CHECK(problem_of({.site = "::1", .tool = "POST /v1"}) == "none");
  CHECK(problem_of({.site = "host", .tool = "CONNECT"}) == "none");
}

TEST_CASE("a share of all requests meets the faults of an unreliable service", "[lab][mix]") {
  constexpr int visits = 4000;
  for (const double rate : {0.0, 0.1, 0.5, 1.0}) {
    for (const bool https : {false, true}) {
      const lab::Chaos chaos{lab::service_faults(rate)};
      int met = 0;
      for (int i = 0; i < visits; ++i) {
        const auto one = https ? chaos.meet_opaque({.name = "h", .tool = "CONNECT"})
                               : chaos.meet({.name = "h", .tool = "GET /"});
        if (one.delay || one.fault) ++met;
      }
      INFO(rate << " https " << https);
      CHECK(met == Approx(rate * visits).margin(rate < 1 && rate > 0 ? 100 : 0));
      std::map<lab::Fault, int> kinds;
      for (const lab::Injection& one : chaos.injected()) ++kinds[one.fault];
      if (rate == 0.1) CHECK(kinds.size() == (https ? 3 : 5));
      if (rate == 0.1 && !https) {
        for (const auto& [fault, times] : kinds) CHECK(times == Approx(80).margin(30));
      }
    }
  }
}
