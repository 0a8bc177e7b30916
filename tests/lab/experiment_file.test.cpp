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

std::string problem(const char* text) {
  const auto read = experiment(text);
  return read ? std::string() : read.error().detail;
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

TEST_CASE("real stores are refused where nobody can make one", "[lab][experiment]") {
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "stores": ["sqlite"]})"),
             ContainsSubstring("stores: sqlite cannot be made here; allowed are none, deferred"));
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "stores": ["tape"]})"),
             ContainsSubstring("allowed are none, deferred, immediate, sqlite, file"));
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "real_time": "yes"})"),
             ContainsSubstring("real_time is \"yes\"; allowed is true or false"));
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

TEST_CASE("a file with a mistake is told the key, its value and what is allowed",
          "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x"})") ==
        "policies is missing; allowed is a list of one or more names (none, blind_retry, "
        "backoff_only, a file) or {name: policy document}");
  CHECK_THAT(problem(R"({"experiment": "x", "policies": []})"),
             ContainsSubstring("policies is []; allowed is a list of one or more"));
  CHECK(problem(R"({"experiment": "x", "policies": ["no"]})") ==
        "policies[0] is \"no\"; allowed are none, blind_retry, backoff_only, a file (.yaml, .yml, "
        ".json) and a policy document");
  CHECK(problem(R"({"experiment": "x", "policies": ["mine.yaml"]})") ==
        "policies[0]: \"mine.yaml\" cannot be opened");
  CHECK_THAT(problem(R"({"experiment": "x", "policies": [{"mine": {"timeout": "retri"}}]})"),
             ContainsSubstring("policies[0].mine.timeout names the strategy \"retri\""));
  CHECK(problem(R"({"experiment": "x", "policies": ["none"],
                    "faults": [{"a": [{"fault": "fails", "rate": 1.5}]}]})") ==
        "faults[0].a[0].rate is 1.5; allowed is 0 to 1");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"],
                    "faults": [{"a": [{"trouble": "timeout", "share": -1}]}]})") ==
        "faults[0].a[0].share is -1.0; allowed is 0 to 1");
  CHECK_THAT(problem(R"({"experiment": "x", "policies": ["none"], "moods": ["good"]})"),
             ContainsSubstring("moods is not known; allowed are "));
  CHECK_THAT(problem(R"({"experiment": "x", "policies": ["none"], "vary": {"mood": [1]}})"),
             ContainsSubstring("vary.mood is not a factor; allowed is agent. and a key"));
  CHECK_THAT(problem(R"({"experiment": "x", "policies": ["none"], "vary": {"agent.step": [1]}})"),
             ContainsSubstring("vary.agent.step[0]: agent.step is not known"));
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "stores": ["paper"]})") ==
        "stores[0] is \"paper\"; allowed are none, deferred, immediate, sqlite, file");
  CHECK_THAT(problem(R"({"experiment": "x", "policies": ["none"], "compare": "polcy"})"),
             ContainsSubstring("compare is \"polcy\"; allowed are policy; did you mean"));
  // A range that begins at 1 is told as such, whatever else is there.
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "seeds": "many"})") ==
        "seeds is \"many\"; allowed is a whole number, 1 or more");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"steps": "ten"}})") ==
        "agent.steps is \"ten\"; allowed is a whole number, 1 to 100000");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "vary": {}})") ==
        "vary is {}; allowed is one or more keys, such as agent.steps, each with a list of values");
  CHECK(problem("[]") == "the document is []; it must be an object");
  // All mistakes at once.
  const std::string both = problem(R"({"experiment": "x", "policies": ["none"], "seeds": 0,
                                       "budgets": [{"a": {"max_attempts": 0}}]})");
  CHECK_THAT(both, ContainsSubstring("budgets[0].a.max_attempts is 0; allowed is 1 to 1000000\n") &&
                       ContainsSubstring("seeds is 0; allowed is 1 or more"));
}

TEST_CASE("a key that is varied as a whole and in part is refused", "[lab][experiment]") {
  const char* const told =
      "vary.agent.recovers is changed by vary.agent.recovers.right_hint, too; allowed is one of "
      "them";
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "vary": {
      "agent.recovers": [0.5, 0.9], "agent.recovers.right_hint": [0.5, 0.9]}})") == told);
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "vary": {
      "agent.recovers.right_hint": [0.5, 0.9],
      "agent.recovers": [{"right_hint": 0.1}, {"right_hint": 0.2}]}})") == told);
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "vary": {
      "agent.recovers.right_hint": [0.5, 0.9], "agent.recovers.no_hint": [0.1, 0.2],
      "agent.step_time": ["1s", "2s"], "agent.steps": [2, 3]}})") == "");
}

TEST_CASE("a small file makes no large error", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"tools": ["a", "b"]},
                    "vary": {"agent.tools.200000000": ["c"]}})") ==
        "vary.agent.tools.200000000 is not a key of the agent");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"tools": ["a", "b"]},
                    "vary": {"agent.tools.0": ["c", "d"]}})") ==
        "vary.agent.tools.0 is not a key of the agent");
  const auto told = [](const Json& json) {
    const auto read = lab::experiment_from_json(json, {});
    CHECK_ERRC(Errc::invalid_argument, read);
    return read ? std::size_t{0} : read.error().detail.size();
  };
  Json file{{"experiment", "x"}, {"policies", {"none"}}};
  const Json large = std::string(100'000, 'x');
  for (const char* key : {"seeds", "policies", "faults", "budgets", "stores", "vary"}) {
    INFO(key);
    Json wrong = file;
    wrong[key] = Json::array({Json::array({large})});
    CHECK(told(wrong) < 1'000);
    wrong[key] = Json{{"a", Json::array({large})}};
    CHECK(told(wrong) < 1'000);
  }
  Json many = file;
  for (int i = 0; i < 200; ++i) many["agent"]["key" + std::to_string(i)] = 1;
  many["vary"]["agent.mood"] = Json(200, 1);
  CHECK(told(many) < 1'000'000);  // It was 7 MB.
  Json deep = file;
  std::string path = "agent.steps";
  for (int i = 0; i < 100'000; ++i) path += ".a";
  deep["vary"][path] = Json::array({1, 2});
  CHECK(told(deep) < 1'000'000);
}

TEST_CASE("an agent whose time is longer than what is simulated is refused", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"step_time": "60000d"}})") ==
        "agent.step_time is 60000d for each of 10 steps; allowed are 365d together, the longest "
        "time that is simulated");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"],
                    "agent": {"jobs": 1000, "every": "106751d"}})") ==
        "agent.every is 106751d for each of 1000 jobs; allowed are 365d together, the longest "
        "time that is simulated");
  CHECK_THAT(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"step_time": "1d"},
                         "vary": {"agent.steps": [365, 366]}})"),
             ContainsSubstring("vary.agent.steps[1]: agent.step_time is 1d for each of 366 steps"));
}

TEST_CASE("an empty list of a fault is not taken for the default", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x", "policies": ["none"],
                    "faults": [{"a": [{"fault": "fails", "types": [], "at": []}]}]})") ==
        "faults[0].a[0].at is []; allowed is a list of one or more\n"
        "faults[0].a[0].types is []; allowed is a list of one or more");
}

TEST_CASE("all mistakes of one object are told at once, each key once", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x", "policies": ["none"],
                    "agent": {"steps": "ten", "jobs": 0, "recovers": {"no_hint": 2}, "mood": 1}})") ==
        "agent.steps is \"ten\"; allowed is a whole number, 1 to 100000\n"
        "agent.jobs is 0; allowed is 1 to 1000\n"
        "agent.recovers.no_hint is 2.0; allowed is 0 to 1\n"
        "agent.mood is not known; allowed are steps, step_time, input_tokens, output_tokens, "
        "input_price, output_price, tools, jobs, every, effect, effect_step, restart_after, "
        "recovers");
  CHECK_THAT(
      problem(R"({"experiment": "x", "policies": ["none"], "faults": [{"a": [
                     {"fault": "fails", "from": "x", "rate": "often"},
                     {"trouble": "tiredness", "repeats": -1}, 7]}]})"),
      ContainsSubstring("faults[0].a[0].from is \"x\"; allowed is a whole number, 1 or more\n"
                        "faults[0].a[0].rate is \"often\"; allowed is a number\n"
                        "faults[0].a[1].trouble is \"tiredness\"; allowed are wrong_tool") &&
          ContainsSubstring("\nfaults[0].a[1].repeats is -1; allowed is a whole number, 0 to "
                            "100000\nfaults[0].a[2] is 7; allowed is an object with"));
}

TEST_CASE("faults that can never happen are refused, all at once", "[lab][experiment]") {
  const std::string told = problem(R"({"experiment": "never", "policies": ["none"],
      "agent": {"steps": 5, "tools": ["search"]}, "faults": [{"all": [
        {"fault": "fails", "site": "setp"},
        {"fault": "fails", "site": "step", "step": "step 1"},
        {"fault": "fails", "site": "step", "tool": "serch"},
        {"fault": "fails", "site": "effect"},
        {"trouble": "unknown", "step": 50},
        {"fault": "wrong_value", "site": "store"},
        {"fault": "partial_value", "site": "step"},
        {"fault": "fails", "site": "step", "tool": "search"},
        {"fault": "kill"}, {"fault": "store_outage", "step": "append"},
        {"trouble": "unknown", "step": 5}]}]})");
  INFO(told);
  for (const char* place : {"[0].site is \"setp\"", "[1] never happens: ", "[2] never happens: ",
                            "[3] never happens: ", "[4].step is 50; allowed is 1 to `steps`, 5",
                            "[5] never happens: ", "[6] never happens: "}) {
    CHECK_THAT(told, ContainsSubstring(std::string("faults[0].all") + place));
  }
  for (const char* place : {"[7]", "[8]", "[9]", "[10]"}) {
    CHECK_THAT(told, !ContainsSubstring(std::string("all") + place));
  }
}

TEST_CASE("a fault that some of the compared agents can meet is no mistake", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "some", "policies": ["none"],
      "agent": {"steps": 5}, "vary": {"agent.steps": [5, 50], "agent.effect": ["none", "bare"]},
      "faults": [{"all": [{"trouble": "unknown", "step": 50},
                          {"fault": "fails", "site": "effect"}]}]})")
            .empty());
}

TEST_CASE("a single seed has no interval", "[lab][experiment]") {
  const auto report = report_of(R"({"experiment": "single", "seeds": 1, "policies": ["none"]})");
  const Json json = report.json();
  CHECK(json["conditions"][0]["figures"]["steps"]["mean"] == 10);
  CHECK(json["conditions"][0]["figures"]["steps"]["interval"].is_null());
  CHECK_THAT(report.text(), ContainsSubstring("steps 10\n"));
  CHECK_THAT(report.csv(), ContainsSubstring(",10,,"));
}
