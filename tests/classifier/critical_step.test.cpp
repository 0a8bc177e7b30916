// SPDX-License-Identifier: MIT
// Which step is to blame.
#include "classifier/support.hpp"
#include "support/catch.hpp"

using namespace triage;

namespace {

Step answered(const std::string& tool, Json input, Json output) {
  return {.action = tool,
          .tool_called = tool,
          .tool_input = std::move(input),
          .tool_output = std::move(output)};
}

Step failed(const std::string& tool, Json input, const std::string& error) {
  return {.action = tool, .tool_called = tool, .tool_input = std::move(input), .error = error};
}

Classification blame(const Failure& failure, std::vector<Step> steps,
                     const AgentContract& contract = {}) {
  const Trajectory trajectory = test::trajectory_of(std::move(steps));
  return default_classifier()->classify(
      {.failure = failure, .trajectory = trajectory, .contract = &contract});
}

// An order that goes well from end to end.
std::vector<Step> good_order(const std::string& number = "77") {
  const std::string order = "ord-" + number;
  const std::string doc = "doc-1" + number;
  return {answered("search", {{"name", "Miller " + number}}, {{"orders", {{{"id", order}}}}}),
          answered("load", {{"order", order}}, {{"doc", doc}, {"pages", 3}}),
          answered("print", {{"doc", doc}}, {{"job", "job-1" + number}})};
}

std::vector<Step> with(std::vector<Step> steps, std::vector<Step> more) {
  for (Step& step : more) steps.push_back(std::move(step));
  return steps;
}

}  // namespace

TEST_CASE("a swallowed error is to blame for what it left undone", "[classifier][critical]") {
  const Failure failure{.text = "'NoneType' object is not subscriptable"};
  const auto found = blame(
      failure, with(good_order(),
                    {answered("search", {{"name", "Smith"}}, {{"orders", {{{"id", "ord-88"}}}}}),
                     failed("load", {{"order", "ord-88"}}, "the archive is locked"),
                     answered("note", {{"text", "going on"}}, nullptr),
                     failed("print", {{"doc", nullptr}}, failure.text)}));
  CHECK(found.critical_step == 4U);
  CHECK(found.evidence.back().source == "critical_step");
  CHECK_THAT(found.evidence.back().detail, ContainsSubstring("nothing made up for it"));
}

TEST_CASE("an error that was made up for is not to blame", "[classifier][critical]") {
  const Failure failure{.text = "'NoneType' object is not subscriptable"};
  for (const int way : {0, 1, 2}) {
    INFO(way);
    std::vector<Step> steps = good_order();
    steps.push_back(answered("search", {{"name", "Smith"}}, {{"orders", {{{"id", "ord-88"}}}}}));
    steps.push_back(failed("load", {{"order", "ord-88"}}, "the archive is locked"));
    const Json doc{{"doc", "doc-188"}, {"pages", 1}};
    if (way == 0) steps.push_back(answered("load", {{"order", "ord-88"}}, doc));
    if (way == 1) steps.push_back(answered("load", {{"order", "ord-88"}, {"copy", true}}, doc));
    if (way == 2) steps.push_back(answered("load_copy", {{"order", "ord-88"}}, doc));
    steps.push_back(failed("print", {{"doc", "doc-188"}}, failure.text));
    CHECK(blame(failure, steps).critical_step == 6U);
  }
}

TEST_CASE("an empty result is to blame where somebody took the first of it",
          "[classifier][critical]") {
  const Failure failure{.text = "list index out of range"};
  const auto found = blame(
      failure,
      with(good_order(), {answered("search", {{"name", "Smith"}}, {{"orders", Json::array()}}),
                          failed("load", {{"order", nullptr}}, failure.text)}));
  CHECK(found.critical_step == 3U);
}

TEST_CASE("a result that is empty as a rule is not to blame", "[classifier][critical]") {
  const Failure failure{.text = "list index out of range"};
  const auto found =
      blame(failure, with(good_order(), {answered("problems", {{"of", "a"}}, Json::array()),
                                         answered("problems", {{"of", "b"}}, Json::array()),
                                         failed("print", {{"doc", "doc-177"}}, failure.text)}));
  CHECK(found.critical_step == 5U);
  const auto unseen =
      blame(failure, with(good_order(), {answered("problems", {{"of", "a"}}, Json::array()),
                                         answered("problems", {{"of", "b"}}, Json::array())}));
  CHECK_FALSE(unseen.critical_step);
}

TEST_CASE("a result that lacks what the others have is to blame, through what was made of it",
          "[classifier][critical]") {
  const Failure failure{.text = "cannot convert float NaN to integer"};
  for (const Json& odd : {Json{{"doc", nullptr}, {"pages", 3}}, Json{{"pages", 3}},
                          Json("<html><body>Sign in</body></html>")}) {
    INFO(odd);
    const auto found = blame(
        failure, with(good_order(), {answered("load", {{"order", "ord-77"}}, odd),
                                     answered("print", {{"doc", nullptr}}, {{"job", nullptr}}),
                                     failed("ship", {{"job", nullptr}}, failure.text)}));
    CHECK(found.critical_step == 3U);
  }
}

TEST_CASE("what does not exist is the fault of the step that named it", "[classifier][critical]") {
  const Failure failure{.text = "KeyError: 'doc-177'"};
  auto steps = good_order();
  steps[2] = failed("print", {{"doc", "doc-177"}}, failure.text);
  CHECK(blame(failure, steps).critical_step == 1U);
}

TEST_CASE("a log that failed is not to blame", "[classifier][critical]") {
  const Failure failure{.text = "'NoneType' object is not subscriptable"};
  const auto found = blame(
      failure, with({answered("log", {{"text", "begun"}}, nullptr)},
                    with(good_order(), {failed("log", {{"text", "going on"}}, "disk full"),
                                        failed("print", {{"doc", "doc-177"}}, failure.text)})));
  CHECK(found.critical_step == 5U);
  const auto unseen =
      blame(failure, with({answered("log", {{"text", "begun"}}, nullptr)},
                          with({failed("log", {{"text", "on"}}, "disk full")}, good_order())));
  CHECK_FALSE(unseen.critical_step);
}

TEST_CASE("an outage is the fault of the step that met it first", "[classifier][critical]") {
  const Failure failure{.text = "503 Service Unavailable", .http_status = 503};
  const Step down = failed("print", {{"doc", "doc-177"}}, failure.text);
  auto steps = good_order();
  steps[1] = failed("load", {{"order", "ord-77"}}, "the archive is locked");
  const auto found = blame(failure, with(steps, {down, down}));
  CHECK(found.type == FailureType::external_fault);
  CHECK(found.critical_step == 3U);
}

TEST_CASE("the result that fills the context is to blame for an overflow",
          "[classifier][critical]") {
  const Failure failure{.text = "prompt is too long", .type = FailureType::context_overflow};
  auto steps = good_order();
  steps[1].tool_output = std::string(80'000, 'x');
  CHECK(blame(failure, steps).critical_step == 1U);
  CHECK_FALSE(blame(failure, good_order()).critical_step);
}

TEST_CASE("the first step that broke the contract is to blame, unless that was mended",
          "[classifier][critical]") {
  const AgentContract contract{.tools = {{.name = "search"}, {.name = "load"}, {.name = "print"}},
                               .constraints = {"secret"}};
  const Failure failure{.text = "the answer was not accepted"};
  auto steps = good_order();
  for (const char* number : {"11", "22", "33", "44"}) steps = with(steps, good_order(number));
  steps[2] = answered("print_all", {{"doc", "doc-177"}}, nullptr);
  CHECK(blame(failure, steps, contract).critical_step == 2U);
  steps[2] = failed("print_all", {{"doc", "doc-177"}}, "no such tool");
  steps[3] = answered("print", {{"doc", "doc-177"}}, {{"job", "job-1771"}});
  CHECK(blame(failure, steps, contract).critical_step != 2U);
  steps[4].llm_output = "It is a secret.";
  steps[9].llm_output = "As I said, it is a SECRET.";
  CHECK(blame(failure, steps, contract).critical_step == 4U);
}

TEST_CASE("steps that a rollback restored are not to blame", "[classifier][critical]") {
  const Failure failure{.text = "KeyError: 'doc-177'"};
  auto steps = good_order();
  steps[2] = failed("print", {{"doc", "doc-177"}}, failure.text);
  const Trajectory trajectory = test::trajectory_of(steps);
  const auto found = default_classifier()->classify(
      {.failure = failure, .trajectory = trajectory, .restored_steps = 2});
  CHECK(found.critical_step == 2U);
}

TEST_CASE("thousands of large steps are read within bounds", "[classifier][critical]") {
  Json many = Json::array();
  for (int i = 0; i < 3000; ++i) many.push_back("value " + std::to_string(i % 50) + " of many");
  Trajectory trajectory;
  for (int i = 0; i < 600; ++i) {
    trajectory.append(i % 2 == 0 ? answered("a", {{"in", many}, {"n", i}}, many)
                                 : failed("b", {{"in", many}, {"n", i}}, "value 7 of many is bad"));
  }
  const Failure failure{.text = "value 7 of many is bad"};
  const auto found = default_classifier()->classify({.failure = failure, .trajectory = trajectory});
  REQUIRE(found.critical_step);
  CHECK(*found.critical_step >= 600 - 256);
}
