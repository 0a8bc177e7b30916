// SPDX-License-Identifier: MIT
// Experiments: the same seeds under every condition, honest intervals, and resumption after a kill.
#include "triage/lab/experiment.hpp"

#include "triage/agent.hpp"
#include "triage/lab/chaos.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

using namespace triage;
using lab::Condition;
using lab::Sample;

namespace {

// Whether an agent survives three calls that fail at a given rate, by policy.
Sample survive(const Condition& condition, std::uint64_t seed) {
  const lab::Chaos chaos{{.rules = {{.site = "call", .rate = std::stod(condition["rate"])}}},
                         {.seed = seed}};
  FailurePolicy policy;
  if (condition["policy"] == "none") {
    policy.otherwise(escalate());
  } else {
    policy.otherwise(retry({.max_attempts = 4}));
  }
  double calls = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) -> Result<int> {
                            for (int i = 0; i < 3; ++i) {
                              ++calls;
                              auto called = chaos.call("call", attempt, [] { return 1; });
                              if (!called) return std::move(called).error();
                            }
                            return 1;
                          },
                          policy,
                          {.clock = std::make_shared<testing::SimulatedClock>()}};
  const bool success = agent.run(1).has_value();
  return {.success = success, .figures = {{"calls", calls}}};
}

lab::ExperimentOptions options(std::uint64_t seeds = 300) {
  return {.factors = {{"policy", {"none", "retry"}}, {"rate", {"0", "0.2"}}}, .seeds = seeds};
}

}  // namespace

TEST_CASE("conditions are compared over the same seeds, with intervals", "[lab][experiment]") {
  const auto report = lab::run_experiment(survive, options());
  REQUIRE_OK(report);
  const auto& all = report.value().conditions;
  REQUIRE(all.size() == 4);
  CHECK(all[0].condition.text() == "policy=none, rate=0");
  CHECK(all[3].condition.text() == "policy=retry, rate=0.2");
  CHECK(all[0].rate == 1.0);
  CHECK(all[1].rate < 0.65);  // 0.8 cubed is 0.51.
  CHECK(all[1].interval.low < 0.512);
  CHECK(all[1].interval.high > 0.512);
  CHECK(all[3].rate > all[1].rate);
  CHECK(all[3].figures.at("calls").value > all[1].figures.at("calls").value);
  const auto& against = report.value().differences;
  REQUIRE(against.size() == 2);  // The policies, at each rate.
  CHECK(against[0].rate == 0.0);
  CHECK(against[0].interval.low < 0);
  CHECK(against[0].interval.high > 0);
  CHECK(against[1].from == 1);
  CHECK(against[1].to == 3);
  CHECK(against[1].rate == Approx(all[3].rate - all[1].rate));
  CHECK(against[1].interval.low > 0);
  CHECK(against[1].interval.high < 0.6);
}

TEST_CASE("the threads do not change a report", "[lab][experiment]") {
  auto one = options();
  one.threads = 1;
  auto many = options();
  many.threads = 4;
  CHECK(lab::run_experiment(survive, one).value().json() ==
        lab::run_experiment(survive, many).value().json());
}

TEST_CASE("an experiment that was broken off goes on with what it has", "[lab][experiment]") {
  auto kept = options(150);
  const std::string whole = lab::run_experiment(survive, kept).value().csv();
  kept.store = MemoryStore::create();
  std::atomic<int> calls{0};
  const auto breaks = [&](const Condition& condition, std::uint64_t seed) {
    if (++calls == 333) throw std::runtime_error("the power is gone");
    return survive(condition, seed);
  };
  CHECK(lab::run_experiment(breaks, kept).error().code == Errc::aborted);
  calls = 1'000;
  const auto report = lab::run_experiment(breaks, kept);
  REQUIRE_OK(report);
  CHECK(report.value().csv() == whole);
  CHECK(report.value().resumed > 200);
  CHECK(report.value().resumed + static_cast<std::uint64_t>(calls) - 1'000 == 600);
  // It has finished now, and its result is stored.
  const int before = calls;
  const auto again = lab::run_experiment(breaks, kept);
  CHECK(again.value().csv() == whole);
  CHECK(again.value().resumed == 600);
  CHECK(calls == before);
}

TEST_CASE("what is stored of another experiment does not count", "[lab][experiment]") {
  auto kept = options(5);
  kept.store = MemoryStore::create();
  REQUIRE_OK(lab::run_experiment(survive, kept));
  for (const auto& change : {+[](lab::ExperimentOptions& other) {
                               other.factors[1].levels = {"0", "1"};
                             },
                             +[](lab::ExperimentOptions& other) { other.seeds = 6; },
                             +[](lab::ExperimentOptions& other) { other.first_seed = 2; },
                             +[](lab::ExperimentOptions& other) { other.trial = "other"; }}) {
    auto other = kept;
    change(other);
    CHECK(lab::run_experiment(survive, other).value().resumed == 0);
  }
  CHECK(lab::run_experiment(survive, kept).value().resumed == 20);
}

TEST_CASE("an experiment with a mistake is told which", "[lab][experiment]") {
  const auto problem = [](lab::ExperimentOptions given) {
    const auto report = lab::run_experiment(survive, given);
    return report ? std::string() : report.error().detail;
  };
  CHECK(problem({}) == "factors is empty; allowed is one or more");
  CHECK(problem({.factors = {{"a", {}}}}) == "factor \"a\" has no levels");
  CHECK(problem({.factors = {{"a", {"x", "x"}}}}) == "factor \"a\" has a level twice");
  CHECK(problem({.factors = {{"a", {"x"}}, {"a", {"x"}}}}) == "factor \"a\" is there twice");
  auto none = options(0);
  CHECK(problem(none) == "seeds is 0; allowed is 1 to 1000000000000");
  CHECK(problem(options(std::numeric_limits<std::uint64_t>::max())) ==
        "seeds is 18446744073709551615; allowed is 1 to 1000000000000");
  auto nameless = options(1);
  nameless.name = "with blanks";
  nameless.store = MemoryStore::create();
  CHECK_THAT(problem(nameless), ContainsSubstring("with blanks"));
}

TEST_CASE("a trial that throws ends its experiment, and says where", "[lab][experiment]") {
  const auto report = lab::run_experiment(
      [](const Condition&, std::uint64_t seed) -> Sample {
        if (seed == 7) throw std::runtime_error("no");
        return {.success = true};
      },
      {.factors = {{"a", {"x"}}}, .seeds = 10, .threads = 1});
  REQUIRE_FALSE(report);
  CHECK(report.error().code == Errc::aborted);
  CHECK(report.error().detail == "a=x, seed 7: the trial threw: no");
}

TEST_CASE("a condition whose seeds come to no end has no result, and the others have theirs",
          "[lab][experiment]") {
  const auto trial = [](const Condition& condition, std::uint64_t seed) -> Sample {
    if (condition["who"] == "b" && seed >= 9)
      return {.endless = "goes on at " + std::to_string(seed)};
    return {.success = true, .figures = {{"n", 1}}};
  };
  lab::ExperimentOptions options{
      .factors = {{"who", {"a", "b", "c"}}}, .first_seed = 3, .seeds = 40};
  std::string first;
  for (const int threads : {1, 4}) {
    options.threads = threads;
    const auto done = lab::run_experiment(trial, options);
    REQUIRE_OK(done);
    const lab::ExperimentReport& report = done.value();
    REQUIRE(report.conditions.size() == 2);
    CHECK(report.conditions[1].condition["who"] == "c");
    CHECK(report.conditions[1].trials == 40);
    REQUIRE(report.differences.size() == 1);
    CHECK(report.differences[0].to == 1);  // Its place in the report.
    REQUIRE(report.failed.size() == 1);
    CHECK(report.failed[0].text() == "who=b has no result: seed 9 goes on at 9");
    CHECK_THAT(report.csv(), ContainsSubstring("\nb,0,0,,,,,,\n"));
    CHECK(report.json()["failed"][0] ==
          Json{{"levels", {{"who", "b"}}}, {"seed", 9}, {"why", "goes on at 9"}});
    if (first.empty()) first = report.text();
    CHECK(report.text() == first);
  }
}

TEST_CASE("a listener that throws does not end an experiment", "[lab][experiment]") {
  auto listened = options(40);
  listened.threads = 4;
  listened.on_progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("no"); };
  const auto report = lab::run_experiment(survive, listened);
  REQUIRE_OK(report);
  CHECK(report.value().conditions.front().trials == 40);
}

TEST_CASE("a stored step that is none of the experiment's is left alone", "[lab][experiment]") {
  auto stored = options(40);
  stored.store = MemoryStore::create();
  const TriageAgent other{[](const std::string&, Attempt& attempt) -> Result<Json> {
                            attempt.record_step({.action = "a", .metadata = {{"block", "one"}}});
                            attempt.record_step({.action = "b", .metadata = {{"block", 0}}});
                            return attempt.fail({.text = "stopped"});
                          },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "experiment", .store = stored.store}};
  CHECK_ERRC(Errc::escalated, other.run("experiment", {.run_id = lab::experiment_run(stored)}));
  const auto report = lab::run_experiment(survive, stored);
  REQUIRE_OK(report);
  CHECK(report.value().resumed == 0);
}

TEST_CASE("intervals are those of the books", "[lab][experiment]") {
  // R. Newcombe, Statistics in Medicine 17, 1998, table I, method 3.
  const auto wilson = lab::wilson_interval(81, 263);
  CHECK(wilson.low == Approx(0.2553).margin(0.00006));
  CHECK(wilson.high == Approx(0.3662).margin(0.00006));
  CHECK(lab::wilson_interval(0, 20).low == 0.0);
  CHECK(lab::wilson_interval(0, 20).high == Approx(0.1611).margin(0.00006));
  CHECK(lab::wilson_interval(29, 29).high == 1.0);
  const auto same = lab::paired_interval(0, 0, 100);
  CHECK(same.low == -same.high);
  const auto better = lab::paired_interval(30, 10, 100);
  CHECK(better.low > 0);
  CHECK(better.high < 0.35);
}

TEST_CASE("the interval of a mean is that of all its values, not of its blocks",
          "[lab][experiment]") {
  // The mean of 1 to 1,000, whose standard deviation is 288.8.
  const auto report = lab::run_experiment(
      [](const Condition&, std::uint64_t seed) -> Sample {
        return {.success = true, .figures = {{"n", static_cast<double>(seed)}}};
      },
      {.factors = {{"who", {"a"}}}, .seeds = 1'000});
  const lab::Mean mean = report.value().conditions[0].figures.at("n");
  CHECK(mean.value == Approx(500.5));
  CHECK(mean.interval.high - mean.value == Approx(1.962341 * 288.8194 / std::sqrt(1'000)));
}

TEST_CASE("the interval of a mean of few values is Student's", "[lab][experiment]") {
  const auto report = lab::run_experiment(
      [](const Condition&, std::uint64_t seed) -> Sample {
        return {.figures = {{"n", static_cast<double>(seed)}}};
      },
      {.factors = {{"who", {"a"}}}, .seeds = 5});
  const lab::Mean mean = report.value().conditions[0].figures.at("n");
  // t of 4 degrees of freedom: 2.776; standard deviation of 1 to 5: 1.5811.
  CHECK(mean.interval.high - mean.value == Approx(2.776445 * 1.5811388 / std::sqrt(5)));
}

TEST_CASE("a fact has the interval of a share, and its differences that of pairs",
          "[lab][experiment]") {
  const lab::ExperimentOptions options{
      .factors = {{"who", {"a", "b"}}}, .seeds = 20, .store = std::make_shared<MemoryStore>()};
  const auto report = lab::run_experiment(
      [](const Condition& who, std::uint64_t seed) -> Sample {
        return {.facts = {{"right", who["who"] == "b" || seed % 4 != 0}}};
      },
      options);
  REQUIRE(report);
  const auto& all = report.value();
  const lab::Mean some = all.conditions[0].figures.at("right");
  CHECK(some.value == 0.75);
  CHECK(some.interval.low == lab::wilson_interval(15, 20).low);
  CHECK(some.interval.high == lab::wilson_interval(15, 20).high);
  const lab::Mean each = all.conditions[1].figures.at("right");
  CHECK(each.value == 1.0);
  CHECK(each.interval.low == lab::wilson_interval(20, 20).low);
  CHECK(each.interval.high == 1.0);
  const lab::Mean change = all.differences[0].figures.at("right");
  CHECK(change.value == 0.25);
  CHECK(change.interval.low == lab::paired_interval(5, 0, 20).low);
  const auto again =
      lab::run_experiment([](const Condition&, std::uint64_t) { return Sample{}; }, options);
  CHECK(again.value().json()["conditions"] == all.json()["conditions"]);
}

TEST_CASE("a table of an experiment can be read by other programs", "[lab][experiment]") {
  const auto report = lab::run_experiment(
      [](const Condition& condition, std::uint64_t seed) -> Sample {
        if (condition["who"] == "a,\"b\"") return {.success = true};
        return {.success = seed % 2 == 0, .figures = {{"cost", static_cast<double>(seed)}}};
      },
      {.factors = {{"who", {"a,\"b\"", "c"}}}, .seeds = 2});
  CHECK(report.value().csv() ==
        "who,trials,successes,rate,rate_low,rate_high,cost,cost_low,cost_high\n"
        "\"a,\"\"b\"\"\",2,2,1,0.342380228,1,,,\n"
        "c,2,1,0.5,0.0945312057,0.905468794,1.5,-4.85310237,7.85310237\n");
  CHECK_THAT(report.value().text(), ContainsSubstring("who=c, against who=a,") &&
                                        ContainsSubstring("success -50.0 points"));
}
