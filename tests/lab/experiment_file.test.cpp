// SPDX-License-Identifier: MIT
// Experiments from files: a simulated agent's results under each policy, and errors for mistakes.
#include "triage/lab/experiment_file.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <numeric>
#include <string>

using namespace triage;

namespace {

Result<lab::ScriptedExperiment> experiment(const char* text) {
  return lab::experiment_from_json(Json::parse(text), [](const std::string& file) -> Result<Json> {
    return Error{Errc::not_found, "\"" + file + "\" cannot be opened"};
  });
}

lab::ExperimentReport report_of(const char* text) {
  const auto read = experiment(text);
  REQUIRE_OK(read);
  auto report =
      lab::run_experiment([&](const lab::Condition& condition,
                              std::uint64_t seed) { return read.value().trial(condition, seed); },
                          read.value().options());
  REQUIRE_OK(report);
  return std::move(report).value();
}

double figure(const lab::ExperimentReport& report, std::size_t condition, const char* name) {
  return report.conditions.at(condition).figures.at(name).value;
}

}  // namespace

TEST_CASE("an agent without faults does its steps once, at their price", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "calm", "seeds": 3, "policies": ["none"],
      "agent": {"steps": 10, "step_time": "2s", "input_tokens": 900, "output_tokens": 100,
                "input_price": 10, "output_price": 10}})");
  REQUIRE(report.conditions.size() == 1);
  CHECK(report.conditions[0].rate == 1.0);
  CHECK(figure(report, 0, "attempts") == 1);
  CHECK(figure(report, 0, "steps") == 10);
  CHECK(figure(report, 0, "wasted") == 0);
  CHECK(figure(report, 0, "seconds") == 20);
  CHECK(figure(report, 0, "tokens") == 10'000);
  CHECK(figure(report, 0, "usd") == Approx(0.1));
  CHECK(figure(report, 0, "correct") == 1);
}

TEST_CASE("an attempt that is told the right thing gets past its trouble", "[lab][experiment]") {
  // Certain in both cases, provided that the texts are understood.
  const auto report = report_of(R"({"experiment": "hints", "seeds": 60,
      "agent": {"steps": 3, "recovers": {"right_hint": 1, "wrong_hint": 0, "no_hint": 0}},
      "policies": ["blind_retry", {"told": {"wrong_tool_called": "replan", "default": "escalate"}}],
      "faults": [{"tool": [{"trouble": "wrong_tool_called", "step": 2}]}]})");
  CHECK(report.conditions[0].rate == 0.0);
  CHECK(report.conditions[1].rate > 0.7);
  REQUIRE(report.differences.size() == 1);
  CHECK(report.differences[0].interval.low > 0.6);
}

TEST_CASE("a hint for something else does not help like the right one", "[lab][experiment]") {
  // The failure is classified as a timeout, so its hint is wrong.
  const auto report = report_of(R"({"experiment": "wrong", "seeds": 20,
      "agent": {"steps": 3, "recovers": {"right_hint": 1, "wrong_hint": 0, "no_hint": 0}},
      "policies": [{"hopeful": {"default": {"strategy": "retry", "hint": "wait"},
                                "attempt_timeout": "500ms"}}],
      "faults": [{"tool": [{"trouble": "wrong_tool_called", "step": 2}]}]})");
  CHECK(report.conditions[0].rate == 0.0);
}

TEST_CASE("a trouble without memory is got past by chance, in every policy alike",
          "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "chance", "seeds": 50,
      "agent": {"recovers": 0.5}, "policies": ["blind_retry", "backoff_only"],
      "faults": [{"any": [{"trouble": "external_fault", "step": 10}]}]})");
  CHECK(figure(report, 0, "attempts") == figure(report, 1, "attempts"));
  CHECK(figure(report, 0, "attempts") > 2);
  CHECK(figure(report, 0, "wasted") == Approx((figure(report, 0, "attempts") - 1) * 10));
  CHECK(figure(report, 1, "seconds") > figure(report, 0, "seconds"));
}

TEST_CASE("no step is begun that a budget could not pay", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "poor", "seeds": 20,
      "agent": {"recovers": 0, "input_tokens": 1000, "output_tokens": 0, "steps": 4},
      "policies": ["blind_retry"],
      "faults": [{"always": [{"trouble": "external_fault", "step": 3}]}],
      "budgets": [{"small": {"max_tokens": 7500}}, {"smaller": {"max_tokens": 3000}}]})");
  CHECK(report.conditions[0].rate == 0.0);
  CHECK(figure(report, 0, "tokens") == 7000);
  CHECK(figure(report, 1, "tokens") == 3000);
}

TEST_CASE("a budget that pays the steps exactly pays them all", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "exact", "seeds": 2, "policies": ["none"],
      "agent": {"steps": 3, "input_tokens": 100000, "output_tokens": 0, "input_price": 1},
      "budgets": [{"enough": {"max_cost_usd": 0.3}}, {"less": {"max_cost_usd": 0.29}}]})");
  CHECK(report.conditions[0].rate == 1.0);
  CHECK(figure(report, 1, "steps") == 2);
}

TEST_CASE("a fallback's value is no result of the steps before it", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "instead", "seeds": 5,
      "agent": {"steps": 5}, "faults": [{"any": [{"trouble": "external_fault", "step": 3}]}],
      "policies": [{"instead": {"default": {"strategy": "fallback", "value": 5}}}]})");
  CHECK(report.conditions[0].rate == 1.0);
  CHECK(figure(report, 0, "wasted") == 3);
  CHECK(figure(report, 0, "correct") == 0);
}

TEST_CASE("a job that ends when the world begins took no time", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "at_once", "seeds": 2, "policies": ["none"],
      "agent": {"steps": 2, "step_time": 0, "jobs": 3, "every": "10s"}})");
  CHECK(figure(report, 0, "seconds") == 0);
}

TEST_CASE("an outage ends by itself, and waiting outlasts it", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "outage", "seeds": 20, "agent": {"steps": 5},
      "policies": ["blind_retry", "backoff_only"],
      "faults": [{"outage": [{"trouble": "external_fault", "lasts": "20s"}]}]})");
  CHECK(report.conditions[0].rate == 0.0);
  CHECK(report.conditions[1].rate > 0.6);
}

TEST_CASE("an effect under kills happens twice unless it is wrapped", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "kills", "seeds": 100, "compare": "agent.effect",
      "agent": {"steps": 3, "effect": "bare", "effect_step": 2}, "policies": ["blind_retry"],
      "faults": [{"kills": [{"fault": "kill", "site": "receipt", "rate": 0.3}]}],
      "stores": ["immediate"], "vary": {"agent.effect": ["bare", "wrapped", "reconciled"]}})");
  REQUIRE(report.conditions.size() == 3);
  CHECK(figure(report, 0, "doubled") > 0.2);
  CHECK(report.conditions[0].rate == 1.0);
  CHECK(figure(report, 1, "doubled") == 0);
  CHECK(report.conditions[1].rate < 0.9);  // Whether it happened is unknown.
  CHECK(figure(report, 2, "doubled") == 0);
  CHECK(report.conditions[2].rate == 1.0);
}

TEST_CASE("what goes wrong silently is restored from before it, or it stays", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "spoiled", "seeds": 60,
      "agent": {"steps": 8, "recovers": 1},
      "policies": [{"latest": {"default": {"strategy": "rollback", "latest": true}}},
                   {"far": {"default": {"strategy": "rollback", "back": 4}}}],
      "faults": [{"late": [{"trouble": "external_fault", "step": 3, "noticed_after": 3}]},
                 {"never": [{"trouble": "external_fault", "step": 3, "noticed_after": 20}]}]})");
  CHECK(report.conditions[0].rate == 0.0);  // The wrong state is restored again and again.
  CHECK(report.conditions[2].rate == 1.0);
  CHECK(figure(report, 3, "correct") == 0.0);
  CHECK(report.conditions[3].rate == 1.0);  // The fault went unnoticed.
}

TEST_CASE("the same seed gives the same sample, whatever ran before", "[lab][experiment]") {
  const auto read = experiment(R"({"experiment": "same", "seeds": 2, "policies": ["backoff_only"],
      "agent": {"jobs": 3, "every": "1s"},
      "faults": [{"all": [{"fault": "fails", "site": "step", "rate": 0.1},
                          {"fault": "kill", "site": "store", "rate": 0.02}]}]})");
  REQUIRE_OK(read);
  const lab::Condition only(0, {{"policy", "backoff_only"}});
  const auto first = read.value().trial(only, 7);
  static_cast<void>(read.value().trial(only, 8));
  const auto again = read.value().trial(only, 7);
  CHECK(first.figures == again.figures);
  CHECK(first.figures.count("finished") == 1);
}

TEST_CASE("a timeline has every attempt of a trial with its end", "[lab][experiment]") {
  const auto read = experiment(R"({"experiment": "line", "agent": {"steps": 4, "recovers": 1},
      "policies": ["blind_retry"], "faults": [{"a": [{"trouble": "timeout", "step": 2}]}]})");
  REQUIRE_OK(read);
  const auto spans = read.value().timeline(lab::Condition(0, {}), 1);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].end == "timeout");
  CHECK(spans[0].to == std::chrono::seconds(2));
  CHECK(spans[1].end == "done");
  CHECK(spans[1].attempt == 2);
}

TEST_CASE("a policy that waits longer than is simulated has no result, and the others have theirs",
          "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "long", "seeds": 2, "agent": {"recovers": 1},
      "policies": ["blind_retry", {"r": {"default": {"strategy": "retry", "delay": "400d"}}}],
      "faults": [{"x": [{"trouble": "timeout"}]}], "stores": ["none"]})");
  REQUIRE(report.conditions.size() == 1);
  CHECK(report.conditions[0].rate == 1.0);
  REQUIRE(report.failed.size() == 1);
  CHECK_THAT(report.failed[0].text(),
             ContainsSubstring("policy=r has no result: seed 1 still goes on after ") &&
                 ContainsSubstring("; allowed are 365d and 1000000 events"));
}

TEST_CASE("a single seed has no interval", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "single", "seeds": 1, "policies": ["none"]})");
  const Json json = report.json();
  CHECK(json["conditions"][0]["figures"]["steps"]["mean"] == 10);
  CHECK(json["conditions"][0]["figures"]["steps"]["interval"].is_null());
  CHECK_THAT(report.text(), ContainsSubstring("steps 10\n"));
  CHECK_THAT(report.csv(), ContainsSubstring(",10,,"));
}

TEST_CASE("no later trouble takes an earlier one back, nor does an outage put itself off",
          "[lab][experiment]") {
  const auto rate_of = [](const std::string& faults) {
    const std::string text = R"({"experiment": "late", "seeds": 3, "policies": ["none"],
        "agent": {"steps": 8}, "faults": [{"a": )" +
                             faults + "}]}";
    return report_of(text.c_str()).conditions.at(0).rate;
  };
  CHECK(rate_of(R"([{"trouble": "timeout", "step": 2, "noticed_after": 2},
                    {"trouble": "timeout", "step": 3, "noticed_after": 50}])") == 0.0);
  CHECK(rate_of(R"([{"trouble": "timeout", "step": 2, "noticed_after": 50},
                    {"trouble": "timeout", "step": 3, "noticed_after": 2}])") == 0.0);
  const std::string outage =
      R"([{"trouble": "external_fault", "from": "2s", "lasts": "100s", "noticed_after": )";
  CHECK(rate_of(outage + "1}]") == 0.0);
  CHECK(rate_of(outage + "2}]") == 0.0);
  CHECK(rate_of(outage + "50}]") == 1.0);  // Nobody looks at what came of it.
}
