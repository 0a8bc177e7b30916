// SPDX-License-Identifier: MIT
// Mistakes in the file of an experiment: each is told, once, with its place and what is allowed.
#include "triage/lab/experiment_file.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <algorithm>
#include <string>

using namespace triage;

namespace {

std::string problem(const char* text) {
  const auto read =
      lab::experiment_from_json(Json::parse(text), [](const std::string& file) -> Result<Json> {
        return Error{Errc::not_found, "\"" + file + "\" cannot be opened"};
      });
  return read ? std::string() : read.error().detail;
}

}  // namespace

TEST_CASE("real stores are refused where nobody can make one", "[lab][experiment]") {
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "stores": ["sqlite"]})"),
             ContainsSubstring("stores: sqlite cannot be made here; allowed are none, deferred"));
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "stores": ["tape"]})"),
             ContainsSubstring("allowed are none, deferred, immediate, sqlite, file"));
  CHECK_THAT(problem(R"({"experiment": "s", "policies": ["none"], "real_time": "yes"})"),
             ContainsSubstring("real_time is \"yes\"; allowed is true or false"));
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
        "seeds is \"many\"; allowed is a whole number, 1 to 1000000000000");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "seeds": 2000000000000})") ==
        "seeds is 2000000000000; allowed is 1 to 1000000000000");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"steps": "ten"}})") ==
        "agent.steps is \"ten\"; allowed is a whole number, 1 to 100000");
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "vary": {}})") ==
        "vary is {}; allowed is one or more keys, such as agent.steps, each with a list of values");
  CHECK(problem("[]") == "the document is []; it must be an object");
  // All mistakes at once.
  const std::string both = problem(R"({"experiment": "x", "policies": ["none"], "seeds": 0,
                                       "budgets": [{"a": {"max_attempts": 0}}]})");
  CHECK_THAT(both, ContainsSubstring("budgets[0].a.max_attempts is 0; allowed is 1 to 1000000\n") &&
                       ContainsSubstring("seeds is 0; allowed is 1 to 1000000000000"));
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

TEST_CASE("what changes nothing in a fault is a mistake", "[lab][experiment]") {
  const auto told = [](const std::string& fault) {
    const std::string text =
        R"({"experiment": "x", "policies": ["none"], "faults": [{"a": [)" + fault;
    return problem((text + "]}]}").c_str());
  };
  CHECK(told(R"({"trouble": "timeout", "from": "500s"})") ==
        "faults[0].a[0].from belongs to an outage, which needs `lasts`, too");
  CHECK(
      told(R"({"trouble": "timeout", "lasts": "3s", "step": 9, "recovers": 1})") ==
      "faults[0].a[0].step changes nothing beside `lasts`: an outage fails every step and ends by "
      "itself; allowed is one of the two\n"
      "faults[0].a[0].recovers changes nothing beside `lasts`: an outage fails every step and ends "
      "by itself; allowed is one of the two");
  CHECK(told(R"({"trouble": "timeout", "lasts": "0s"})") ==
        "faults[0].a[0].lasts is 0s; allowed is above 0");
  CHECK(
      told(R"({"trouble": "timeout", "lasts": "1s", "from": "365d"})") ==
      "faults[0].a[0].from is 365d; allowed is less than 365d, the longest time that is simulated");
  CHECK(told(R"({"trouble": "timeout", "share": 0})") ==
        "faults[0].a[0].share is 0; allowed is above 0, up to 1");
  CHECK(told(R"({"fault": "fails", "site": "step", "rate": 0})") ==
        "faults[0].a[0].rate is 0; allowed is above 0, up to 1");
  CHECK(told(R"({"fault": "latency", "site": "step", "length": "400d"})") ==
        "faults[0].a[0].length is 400d; allowed is less than 365d, the longest time that is "
        "simulated");
  CHECK(told(R"({"trouble": "timeout", "lasts": "3s", "from": "1s", "share": 0.5, "repeats": 1,
                 "noticed_after": 1})")
            .empty());
}

TEST_CASE("a price that no sum could hold is refused", "[lab][experiment]") {
  CHECK(problem(R"({"experiment": "x", "policies": ["none"], "agent": {"input_price": 1e306}})") ==
        "agent.input_price is 1e+306; allowed is 0 to 1000000000000");
  CHECK(
      problem(R"({"experiment": "x", "policies": ["none"], "agent": {"restart_after": "400d"}})") ==
      "agent.restart_after is 400d; allowed is less than 365d, the longest time that is simulated");
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

TEST_CASE("a mistake of the agent is told once, whatever is varied", "[lab][experiment]") {
  const std::string told = problem(R"({"experiment": "x", "policies": ["none"],
      "agent": {"stps": 3}, "compare": "foo", "vary": {"agent.steps": [1, 2, "x"],
      "agent.mood": [1, 2]}})");
  INFO(told);
  CHECK_THAT(told, ContainsSubstring("agent.stps is not known") &&
                       ContainsSubstring("vary.agent.steps[2]: agent.steps is \"x\"") &&
                       ContainsSubstring("vary.agent.mood[0]: agent.mood is not known") &&
                       ContainsSubstring("compare is \"foo\"; allowed are policy, faults, budget, "
                                         "store, agent.mood, agent.steps"));
  CHECK(std::count(told.begin(), told.end(), '\n') == 3);
}

TEST_CASE("of many mistakes fifty are told, and how many more there are", "[lab][experiment]") {
  Json file{{"experiment", "x"}, {"policies", {"none"}}, {"compare", "foo"}};
  for (int i = 0; i < 59; ++i) file["vary"]["agent.steps"].push_back(-i);
  const std::string told = problem(file.dump().c_str());
  CHECK(std::count(told.begin(), told.end(), '\n') == 50);
  CHECK_THAT(told, Catch::Matchers::EndsWith("\nand 10 more mistakes"));
  for (int i = 0; i < 60; ++i) file["agent"]["key" + std::to_string(i)] = 1;
  file.erase("vary");
  CHECK_THAT(problem(file.dump().c_str()), Catch::Matchers::EndsWith("\nand 11 more mistakes"));
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
