// SPDX-License-Identifier: MIT
// What fails in a team, the policies that handle it, and what is edited in branches of it.
#include "kit.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/team.hpp"

#include <atomic>
#include <chrono>
#include <limits>
#include <stdexcept>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// One task at first, then another for each that fails.
Json plan_of(const TeamQuestion& asked) {
  return {{"add", {{{"id", asked.failed.empty() ? "x" : "after_" + asked.failed}}}}};
}
Json plans(const TeamQuestion& asked, Context&) { return plan_of(asked); }

Json results(Json outputs, Json failed = Json::object()) {
  return {{"outputs", std::move(outputs)}, {"failed", std::move(failed)}};
}

// Whatever fails with this text falls back on the value; other failures stay failures.
WorkflowOptions falls_back(const std::string& text, Json value) {
  FailurePolicy policy;
  policy.when(
      [text](const FailureContext& failure) { return failure.text.find(text) != text.npos; },
      fallback(std::move(value)));
  policy.otherwise(escalate());
  return {.defaults = {.policy = std::move(policy)}};
}

// Bounded, so that a team that asks itself for ever ends.
Result<WorkflowResult> result_of(const Team& team, std::shared_ptr<CheckpointStore> store = nullptr,
                                 std::shared_ptr<Clock> clock = nullptr) {
  return WorkflowRun(built(team), {.run_id = "t",
                                   .store = std::move(store),
                                   .max_supersteps = 20,
                                   .clock = std::move(clock)})
      .run("goal");
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a fallback of an agent is the output of its task", "[workflow][team]") {
  Team team("team", {}, falls_back("too hard", 7));
  team.coordinator(plans).agent(
      "ann", [](const TaskInput&) -> int { throw std::runtime_error("too hard"); });
  const auto done = result_of(team, GENERATE(memory(), nullptr));
  REQUIRE_OK(done);
  CHECK(done.value().value() == results({{"x", 7}}));
}

TEST_CASE("a fallback of a coordinator is its patch", "[workflow][team]") {
  const bool at_once = GENERATE(true, false);
  Team team("team", {.max_patches = 2}, falls_back("no model", {{"add", {{{"id", "easy"}}}}}));
  team.agent("ann", [](const TaskInput& task) -> Result<std::string> {
    if (task.id == "x") return Error{Errc::io, "too hard"};
    return task.id;
  });
  team.coordinator([&](const TeamQuestion& asked, Context&) -> Json {
    if (at_once || !asked.failed.empty()) throw std::runtime_error("no model");
    return plan_of(asked);
  });
  const auto done = result_of(team, GENERATE(memory(), nullptr));
  REQUIRE_OK(done);
  CHECK(done.value().value().at("outputs") == Json{{"easy", "easy"}});
  CHECK(done.value().value().at("failed").size() == (at_once ? 0 : 1));
}

TEST_CASE("a fallback of a synthesis is the output of the team", "[workflow][team]") {
  Team team("team", {}, falls_back("no model", {{"report", ""}}));
  team.agent("ann", told)
      .coordinator(plans)
      .synthesis([](const std::vector<TaskOutput>&, Context&) -> Json {
        throw std::runtime_error("no model");
      });
  const auto done = result_of(team);
  REQUIRE_OK(done);
  CHECK(done.value().value() == Json{{"report", ""}});
}

TEST_CASE("no policy stands in for the plan of a team", "[workflow][team]") {
  Team team("team", {.max_patches = 1}, falls_back("", {{"add", {{{"id", "easy"}}}}}));
  team.agent("ann", told).coordinator([](const TeamQuestion&, Context&) { return Json(3); });
  const auto done = result_of(team);
  CHECK_ERRC(Errc::invalid_argument, done);
  CHECK_THAT(done.error().detail, ContainsSubstring("the plan patch is refused"));
}

TEST_CASE("a team's policy tries a task, a question and a synthesis again", "[workflow][team]") {
  WorkflowOptions options;
  options.defaults.policy.emplace().otherwise(retry({.max_attempts = 2}));
  Team team("team", {}, options);
  std::map<std::string, int> calls;  // One thing happens at a time.
  const auto second_time = [&](const std::string& what) {
    if (++calls[what] < 2) throw std::runtime_error("not yet");
  };
  team.agent("ann", [&](const TaskInput& task) {
    if (task.id == "x") {
      ++calls["x"];
      throw std::runtime_error("too hard");
    }
    second_time(task.id);
    return 1;
  });
  team.coordinator([&](const TeamQuestion& asked, Context&) {
    second_time("question about " + asked.failed);
    return plan_of(asked);
  });
  team.synthesis([&](const std::vector<TaskOutput>& all, Context&) -> Json {
    second_time("synthesis");
    return all.size();
  });
  const auto done = result_of(team, GENERATE(memory(), nullptr));
  REQUIRE_OK(done);
  CHECK(done.value().value() == 1);
  CHECK(calls == std::map<std::string, int>{{"question about ", 2},
                                            {"x", 2},
                                            {"question about x", 2},
                                            {"after_x", 2},
                                            {"synthesis", 2}});
}

TEST_CASE("an agent fails only its task, whatever it throws or returns", "[workflow][team]") {
  const std::string how =
      GENERATE("nan", "binary", "deep", "nearly too deep", "throw", "late", "idle");
  const auto clock = std::make_shared<testing::SimulatedClock>();
  WorkflowOptions options;
  if (how == "late") options.defaults.timeout = std::chrono::hours(1);
  if (how == "idle") options.defaults.idle_timeout = std::chrono::hours(1);
  Team team("team", {}, options);
  team.coordinator(plans).agent("ann", [&](const TaskInput& task) -> Json {
    if (task.id != "x") return 1;
    if (how == "nan") return not_a_number;
    if (how == "binary") return Json::binary({1, 2});
    if (how == "throw") throw 5;
    if (how == "late" || how == "idle") {
      clock->advance(std::chrono::hours(2));
      return 1;
    }
    Json deep = 1;
    const int levels = how == "deep" ? max_json_depth + 1 : max_json_depth - 1;
    for (int i = 0; i < levels; ++i) deep = Json::array({std::move(deep)});
    return deep;
  });
  const auto done = result_of(team, GENERATE(memory(), nullptr), clock);
  REQUIRE_OK(done);
  CHECK(done.value().value().at("outputs") == Json{{"after_x", 1}});
  CHECK_THAT(done.value().value().at("failed").at("x").get<std::string>(),
             ContainsSubstring(how == "nan"      ? "NaN"
                               : how == "binary" ? "binary"
                               : how == "throw"  ? "not a std::exception"
                               : how == "late"   ? "longer than its timeout"
                               : how == "idle"   ? "idle timeout"
                                                 : "levels"));
}

TEST_CASE("whatever a synthesis throws or returns, the outputs of the tasks are not lost",
          "[workflow][team]") {
  const std::string how = GENERATE("nan", "throw", "late");
  const auto clock = std::make_shared<testing::SimulatedClock>();
  Team team("team", {}, {.defaults = {.timeout = std::chrono::hours(1)}});
  team.agent("ann", told).coordinator(plans);
  team.synthesis([&](const std::vector<TaskOutput>&, Context&) -> Json {
    if (how == "nan") return not_a_number;
    if (how == "throw") throw 5;
    clock->advance(std::chrono::hours(2));
    return 1;
  });
  const auto done = result_of(team, GENERATE(memory(), nullptr), clock);
  REQUIRE_OK(done);
  Json raw = done.value().value();
  CHECK_THAT(raw.at("synthesis_failed").get<std::string>(),
             ContainsSubstring(how == "nan"     ? "NaN"
                               : how == "throw" ? "not a std::exception"
                                                : "longer than its timeout"));
  raw.erase("synthesis_failed");
  CHECK(raw == results({{"x", "x[]"}}));
}

TEST_CASE("a branch of a team begins with another output, patch or reason for a failure",
          "[workflow][team][fork]") {
  Team team("team");
  team.coordinator(plans).agent("ann", [](const TaskInput& task) -> Json {
    if (task.id == "x") throw std::runtime_error("too hard");
    return task.id;
  });
  const auto store = memory();
  WorkflowRun origin(built(team), {.run_id = "t", .store = store});
  REQUIRE_OK(origin.run("goal"));
  const auto checkpoints = origin.checkpoints();
  REQUIRE_OK(checkpoints);
  // coordinator, board, ann, board, coordinator, board, ann, board.
  const auto branch_of = [&](std::size_t supersteps, const Fork& edits) {
    const std::string id = "b" + std::to_string(supersteps);
    return WorkflowRun(built(team), {.run_id = id, .store = store})
        .fork(to_string(checkpoints.value().at(supersteps).id), edits);
  };
  const auto other_patch =
      branch_of(1, {.outputs = {{"coordinator", Json{{"add", {{{"id", "y"}}}}}}}});
  REQUIRE_OK(other_patch);
  CHECK(other_patch.value().value() == results({{"y", "y"}}));
  const auto other_end = branch_of(3, {.outputs = {{"ann", 7}}});
  REQUIRE_OK(other_end);
  CHECK(other_end.value().value() == results({{"x", 7}}));
  const auto other_output = branch_of(7, {.outputs = {{"ann", nullptr}}});
  REQUIRE_OK(other_output);
  CHECK(other_output.value().value() == results({{"after_x", nullptr}}, {{"x", "too hard"}}));
}
