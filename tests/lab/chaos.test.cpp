// SPDX-License-Identifier: MIT
// Faults in calls: their effects, and that the seed determines them.
#include "triage/lab/chaos.hpp"

#include "triage/agent.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"

#include <csignal>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace triage;
using lab::Chaos;
using lab::Fault;

namespace {

std::string search(const std::string& what) { return "found " + what; }

// An agent whose only tool is called through the chaos.
auto searcher(const Chaos& chaos) {
  return [chaos](const std::string& task, Attempt& attempt) {
    return chaos.call("search", attempt, [&] { return search(task); });
  };
}

Result<std::string> run(const Chaos& chaos, int* attempts = nullptr) {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry({.max_attempts = 3})).otherwise(escalate());
  TriageAgent agent{[&, call = searcher(chaos)](const std::string& task, Attempt& attempt) {
                      if (attempts != nullptr) ++*attempts;
                      return call(task, attempt);
                    },
                    policy,
                    {.clock = std::make_shared<testing::SimulatedClock>()}};
  return agent.run("pages");
}

// The failing visits of `site`, of a hundred.
std::set<int> failing_visits(const Chaos& chaos, const char* site) {
  std::set<int> visits;
  for (int i = 1; i <= 100; ++i) {
    if (!chaos.call(site, [] { return 1; })) visits.insert(i);
  }
  return visits;
}

}  // namespace

TEST_CASE("an explicit transient fault is seen and goes away", "[lab][chaos]") {
  // [quadrant: explicit, transient]
  Chaos chaos{{.rules = {{.fault = Fault::fails, .site = "search", .to = 2}}}};
  // [end]
  int attempts = 0;
  const auto found = run(chaos, &attempts);
  REQUIRE(found);
  CHECK(attempts == 3);
  CHECK(chaos.injected_count() == 2);
}

TEST_CASE("an explicit permanent fault is seen and stays", "[lab][chaos]") {
  // [quadrant: explicit, permanent]
  Chaos chaos{{.rules = {{.site = "search", .types = {FailureType::access_denied}}}}};
  // [end]
  const auto found = run(chaos);
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::escalated);
}

TEST_CASE("an implicit transient fault is not seen and goes away", "[lab][chaos]") {
  // [quadrant: implicit, transient]
  Chaos chaos{{.rules = {{.fault = Fault::stale_value, .site = "search", .at = {2}}}}};
  // [end]
  CHECK(chaos.call("search", [] { return search("a"); }).value() == "found a");
  CHECK(chaos.call("search", [] { return search("b"); }).value() == "found a");
  CHECK(chaos.call("search", [] { return search("c"); }).value() == "found c");
}

TEST_CASE("an implicit permanent fault is not seen and stays", "[lab][chaos]") {
  // [quadrant: implicit, permanent]
  Chaos chaos{{.rules = {{.fault = Fault::wrong_value, .site = "search"}}}};
  // [end]
  for (int i = 0; i < 5; ++i) {
    const auto found = chaos.call("search", [] { return search("pages"); });
    REQUIRE(found);
    CHECK(found.value() != "found pages");
    CHECK(found.value().size() == std::string("found pages").size());
  }
}

TEST_CASE("which visits meet a fault depends on the seed and on nothing else", "[lab][chaos]") {
  const lab::FaultMix mix{.rules = {{.rate = 0.3}}};
  const Chaos one{mix, {.seed = 7}};
  const auto alone = failing_visits(one, "a");
  CHECK(alone.size() > 15);
  CHECK(alone.size() < 45);
  // Calls at other places in between change nothing.
  const Chaos two{mix, {.seed = 7}};
  CHECK_FALSE(failing_visits(two, "b") == alone);
  CHECK(failing_visits(two, "a") == alone);
  CHECK_FALSE(failing_visits(Chaos(mix, {.seed = 8}), "a") == alone);
}

TEST_CASE("threads do not change how many faults a place meets, nor which", "[lab][chaos]") {
  const lab::FaultMix mix{.rules = {{.rate = 0.2, .types = {FailureType::timeout}}}};
  const auto faults = [&](int threads) {
    const Chaos chaos{mix, {.seed = 3}};
    std::vector<std::thread> crowd;
    for (int t = 0; t < threads; ++t) {
      crowd.emplace_back([&] {
        for (int i = 0; i < 1000 / threads; ++i) {
          static_cast<void>(chaos.call("a", [] { return 1; }));
        }
      });
    }
    for (std::thread& one : crowd) one.join();
    std::map<std::uint64_t, std::uint64_t> draws;
    for (const lab::Injection& one : chaos.injected()) draws[one.visit] = one.draw;
    return draws;
  };
  const auto alone = faults(1);
  CHECK(alone.size() > 150);
  CHECK(faults(4) == alone);
}

TEST_CASE("a run with a branch of its own meets the same faults whatever runs beside it",
          "[lab][chaos]") {
  const lab::FaultMix mix{.rules = {{.rate = 0.3}}};
  const Chaos quiet{mix, {.seed = 5}};
  const auto alone = failing_visits(quiet.branch("run-2"), "a");
  const Chaos busy{mix, {.seed = 5}};
  const auto other = failing_visits(busy.branch("run-1"), "a");
  CHECK(failing_visits(busy.branch("run-2"), "a") == alone);
  CHECK_FALSE(other == alone);
  CHECK(busy.injected().front().place.starts_with("run-1:"));
}

TEST_CASE("the faults of a run can be played again without their rules", "[lab][chaos]") {
  const lab::FaultMix mix{
      .rules = {{.fault = Fault::wrong_value, .rate = 0.4},
                {.fault = Fault::fails, .rate = 0.2, .types = {FailureType::refused}},
                {.fault = Fault::duplicate, .rate = 0.2}}};
  const auto play = [](const Chaos& chaos) {
    std::vector<std::string> seen;
    for (int i = 0; i < 50; ++i) {
      const auto value = chaos.call("a", [&] { return "value " + std::to_string(i); });
      seen.push_back(value ? value.value() : value.error().detail);
    }
    return seen;
  };
  const Chaos drawn{mix, {.seed = 11}};
  const auto first = play(drawn);
  const auto read = lab::schedule_from_json(Json::parse(lab::to_json(drawn.injected()).dump()));
  REQUIRE(read);
  CHECK(read.value() == drawn.injected());
  CHECK(play(Chaos::replay(read.value())) == first);
  CHECK(lab::describe(drawn.injected()).find("a, visit ") != std::string::npos);
}

TEST_CASE("latency passes on the injected clock, and a stop ends it", "[lab][chaos]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Chaos chaos{{.rules = {{.fault = Fault::latency, .length = std::chrono::seconds(5)}}},
                    {.clock = clock}};
  CHECK(chaos.call("a", [] { return 1; }).value() == 1);
  CHECK(clock->elapsed() == std::chrono::seconds(5));
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = chaos.call("a", [] { return 1; }, {.stop_token = stop.get_token()});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == Errc::cancelled);
}

TEST_CASE("a call that hangs ends at the deadline of its run, as a timeout", "[lab][chaos]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Chaos chaos{{.rules = {{.fault = Fault::hang}}}, {.clock = clock}};
  TriageAgent agent{searcher(chaos), FailurePolicy().otherwise(escalate()), {.clock = clock}};
  const auto found = agent.run("pages", {.deadline = clock->now() + std::chrono::minutes(2)});
  REQUIRE_FALSE(found);
  REQUIRE(found.error().failure());
  CHECK(found.error().failure()->type() == FailureType::timeout);
  CHECK(clock->elapsed() == std::chrono::minutes(2));
}

TEST_CASE("a call that hangs ends when its run is cancelled", "[lab][chaos]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Chaos chaos{{.rules = {{.fault = Fault::hang}}}, {.clock = clock}};
  std::stop_source stop;
  const auto alarm =
      clock->alarm(clock->now() + std::chrono::seconds(30), [&] { stop.request_stop(); });
  const auto called = chaos.call("a", [] { return 1; }, {.stop_token = stop.get_token()});
  REQUIRE_FALSE(called);
  CHECK(called.error().code == Errc::cancelled);
  CHECK(clock->elapsed() == std::chrono::seconds(30));
}

TEST_CASE("a rule strikes where its site, tool and step say, and nowhere else", "[lab][chaos]") {
  const Chaos chaos{{.rules = {{.fault = Fault::fails, .tool = "pay"},
                               {.fault = Fault::fails, .step = "plan"},
                               {.fault = Fault::fails, .site = "bank", .tool = "read"}}}};
  const auto fails = [&](const lab::Site& site) { return !chaos.call(site, [] { return 1; }); };
  CHECK(fails({.name = "bank", .tool = "pay"}));
  CHECK(fails({.name = "shop", .tool = "pay", .step = "buy"}));
  CHECK(fails({.name = "shop", .step = "plan"}));
  CHECK(fails({.name = "bank", .tool = "read"}));
  CHECK_FALSE(fails({.name = "shop", .tool = "read"}));
  CHECK_FALSE(fails({.name = "bank"}));
  CHECK_FALSE(fails({.name = "pay"}));
}

TEST_CASE("failures are of the types that the rule names, each of them now and then",
          "[lab][chaos]") {
  const std::set<FailureType> named{FailureType::timeout, FailureType::refused,
                                    FailureType::schema_mismatch};
  const Chaos chaos{{.rules = {{.types = {named.begin(), named.end()}}}}};
  static_cast<void>(failing_visits(chaos, "a"));
  std::map<FailureType, int> met;
  for (const lab::Injection& one : chaos.injected()) ++met[one.type];
  CHECK(met.size() == named.size());
  for (const auto& [type, count] : met) {
    INFO(to_string(type));
    CHECK(named.count(type) == 1);
    CHECK(count > 20);
  }
}

TEST_CASE("a kill ends the process as kill -9 does, if nobody stands for it", "[lab][chaos]") {
  const pid_t child = ::fork();
  if (child == 0) {
    const Chaos chaos{{.rules = {{.fault = Fault::kill, .at = {2}}}}};
    static_cast<void>(chaos.call("a", [] { return 1; }));
    static_cast<void>(chaos.call("a", [] { return 1; }));
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("a kill is told to whoever stands for the process", "[lab][chaos]") {
  bool killed = false;
  const Chaos chaos{{.rules = {{.fault = Fault::kill, .at = {2}}}},
                    {.kill = [&] { killed = true; }}};
  CHECK(chaos.call("a", [] { return 1; }));
  CHECK_THROWS_AS(chaos.call("a", [] { return 1; }), lab::ProcessKilled);
  CHECK(killed);
}

TEST_CASE("throws throws a text as a provider prints it, duplicate delivers twice",
          "[lab][chaos]") {
  const Chaos chaos{
      {.rules = {{.fault = Fault::throws, .site = "a"}, {.fault = Fault::duplicate, .site = "b"}}}};
  CHECK_THROWS_AS(chaos.call("a", [] {}), lab::InjectedFault);
  int delivered = 0;
  CHECK(chaos.call("b", [&] { ++delivered; }));
  CHECK(delivered == 2);
}

TEST_CASE("a partial value is a part of the value", "[lab][chaos]") {
  const Chaos chaos{{.rules = {{.fault = Fault::partial_value}}}};
  const std::vector<int> whole{1, 2, 3, 4};
  for (int i = 0; i < 20; ++i) {
    const auto part = chaos.call("a", [&] { return whole; }).value();
    CHECK(part.size() < whole.size());
    CHECK(std::equal(part.begin(), part.end(), whole.begin()));
    const auto text = chaos.call("b", [] { return std::string("häßlich"); }).value();
    CHECK(std::string("häßlich").starts_with(text));
    CHECK(check_json(Json(text), "text"));
  }
}

TEST_CASE("a value that no fault can change is left alone, and nothing is noted", "[lab][chaos]") {
  struct Opaque {
    int n = 4;
  };
  const Chaos chaos{{.rules = {{.fault = Fault::wrong_value}}}};
  CHECK(chaos.call("a", [] { return Opaque(); }).value().n == 4);
  CHECK(chaos.injected().empty());
  CHECK(chaos.call("b", [] { return std::make_unique<int>(3); }).value() != nullptr);
}

TEST_CASE("every failure type has texts of its own", "[lab][chaos]") {
  for (const FailureType type : all_failure_types) {
    std::set<std::string> texts;
    for (std::uint64_t draw = 0; draw < 16; ++draw) {
      texts.insert(lab::drawn_failure(type, draw).text);
    }
    INFO(to_string(type));
    CHECK(texts.size() >= 8);
  }
}

TEST_CASE("disarmed chaos leaves calls alone and does not count them", "[lab][chaos]") {
  const Chaos chaos{{.rules = {{.fault = Fault::fails, .at = {1}}}}};
  chaos.disarm();
  CHECK(chaos.call("a", [] { return 1; }));
  chaos.arm();
  CHECK_FALSE(chaos.call("a", [] { return 1; }));
  static_assert(std::is_empty_v<lab::NoChaos>);
  CHECK(lab::NoChaos().call("a", [] { return 1; }).value() == 1);
}

TEST_CASE("a long list is cut in linear time", "[lab][chaos]") {
  Json all = Json::array();
  for (int i = 0; i < 1'000'000; ++i) all.push_back(i);
  const Json cut = lab::detail::partial_value(all, 5);
  CHECK(cut == Json::array({0, 1, 2, 3, 4}));
  CHECK(lab::detail::partial_value(Json{{"a", 1}, {"b", 2}, {"c", 3}}, 2) ==
        Json{{"a", 1}, {"b", 2}});
}

TEST_CASE("a call that hangs or is late ends at its deadline, if that comes first",
          "[lab][chaos]") {
  using std::chrono::seconds;
  for (const Fault fault : {Fault::hang, Fault::latency}) {
    const auto clock = std::make_shared<testing::SimulatedClock>();
    const Chaos chaos{{.rules = {{.fault = fault, .length = seconds(10)}}}, {.clock = clock}};
    const auto begin = clock->now();
    int calls = 0;
    const auto ask = [&](Duration patience) {
      return chaos.call("a", [&] { return ++calls; }, {.deadline = clock->now() + patience});
    };
    CHECK(ask(seconds(2)).error().code == Errc::escalated);
    CHECK(clock->now() - begin == seconds(2));
    CHECK(calls == 0);
    CHECK(ask(seconds(20)).has_value() == (fault == Fault::latency));
    CHECK(clock->now() - begin == seconds(12));
  }
}

TEST_CASE("a fault of a value that changes nothing is not noted", "[lab][chaos]") {
  const auto noted = [](lab::FaultRule rule, auto value) {
    const Chaos chaos{{.rules = {std::move(rule)}}};
    const auto called = chaos.call("a", [&] { return value; });
    CHECK(chaos.injected_count() == std::size_t(called.value() == value ? 0 : 1));
    return chaos.injected_count();
  };
  const lab::FaultRule partial{.fault = Fault::partial_value};
  CHECK(noted(partial, 42) == 0);
  CHECK(noted(partial, true) == 0);
  CHECK(noted(partial, std::string()) == 0);
  CHECK(noted(partial, std::string("some")) == 1);
  const lab::FaultRule wrong{.fault = Fault::wrong_value};
  CHECK(noted(wrong, Json::parse(R"({"x": [], "y": null})")) == 0);
  for (const char* text : {R"({"x": [], "y": 1})", R"({"x": 1, "y": null})", R"([[], 7, {}])"}) {
    CHECK(noted(wrong, Json::parse(text)) == 1);
  }
  CHECK(noted(wrong, 1.5F) == 1);
  CHECK(noted({.fault = Fault::wrong_value, .value = 300}, std::uint8_t{7}) == 0);
  CHECK(noted({.fault = Fault::wrong_value, .value = 1.9}, 7) == 0);
  CHECK(noted({.fault = Fault::wrong_value, .value = 9}, 7) == 1);
}
