// SPDX-License-Identifier: MIT
#include "triage/workflow/team.hpp"
#include "kit.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A team of agents of which two fail at tasks called "bad…".
Team team_of(const Team::Coordinator& coordinator, TeamLimits limits = {}) {
  const auto work = [](const TaskInput& task, Context&) -> Json {
    if (task.id.rfind("bad", 0) == 0) throw std::runtime_error("too hard");
    return told(task);
  };
  Team team("team", limits);
  team.coordinator(coordinator)
      .agent("ann", work)
      .agent("bob", [](const TaskInput& task, Context&) -> Json { return "bob:" + task.id; })
      .agent("cyd", work);
  return team;
}

Json plan(std::initializer_list<Json> tasks) { return {{"add", Json(Json::array_t(tasks))}}; }

}  // namespace

TEST_CASE("a team's coordinator plans, its agents work and the synthesis ends it",
          "[workflow][team]") {
  Team team = team_of([](const TeamQuestion&, Context&) {
    return plan({{{"id", "x"}},
                 {{"id", "y"}, {"assignee", "bob"}},
                 {{"id", "z"}, {"depends_on", {"x", "y"}}}});
  });
  CHECK(WorkflowRun(built(team)).run("goal").value().value() ==
        Json{{"outputs", {{"x", "x[]"}, {"y", "bob:y"}, {"z", "z[xy]"}}},
             {"failed", Json::object()}});
  team.synthesis([](const std::vector<TaskOutput>& all, Context&) -> Json { return all.size(); });
  CHECK(WorkflowRun(built(team)).run("goal").value().value() == 3);
  team.synthesis([](const std::vector<TaskOutput>&, Context&) -> Json {
    throw std::runtime_error("no model");
  });
  const auto raw = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(raw);
  CHECK(raw.value().value().at("synthesis_failed") == "no model");
  CHECK(raw.value().value().at("outputs").at("z") == "z[xy]");
}

TEST_CASE("a coordinator goes round a task that failed", "[workflow][team]") {
  const Team team = team_of([](const TeamQuestion& asked, Context&) -> Json {
    if (asked.failed.empty()) {
      return plan({{{"id", "bad"}}, {{"id", "after"}, {"depends_on", {"bad"}}}});
    }
    CHECK(asked.goal == "goal");
    CHECK(asked.why == "too hard");
    Json patch = plan({{{"id", "easy"}, {"assignee", "bob"}}});
    patch["supersede"] = {"after"};
    return patch;
  });
  const auto result = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(result);
  CHECK(result.value().value().at("outputs") == Json{{"easy", "bob:easy"}});
  CHECK(result.value().value().at("failed") == Json{{"bad", "too hard"}});
}

TEST_CASE("a coordinator goes round each of two tasks that fail at once", "[workflow][team]") {
  const Team team = team_of([](const TeamQuestion& asked, Context&) -> Json {
    if (asked.failed.empty()) {
      return plan({{{"id", "bad1"}},
                   {{"id", "bad2"}, {"assignee", "cyd"}},
                   {{"id", "after1"}, {"depends_on", {"bad1"}}},
                   {{"id", "after2"}, {"depends_on", {"bad2"}}}});
    }
    const std::string number = asked.failed.substr(3);
    Json patch = plan({{{"id", "easy" + number}, {"assignee", "bob"}}});
    patch["supersede"] = {"after" + number};
    return patch;
  });
  const auto result = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(result);
  CHECK(result.value().value() ==
        Json{{"outputs", {{"easy1", "bob:easy1"}, {"easy2", "bob:easy2"}}},
             {"failed", {{"bad1", "too hard"}, {"bad2", "too hard"}}}});
}

TEST_CASE("a plan is not changed more often than it may be, however much fails at once",
          "[workflow][team]") {
  int asked = 0;
  const Team team = team_of(
      [&](const TeamQuestion& question, Context&) -> Json {
        ++asked;
        if (!question.failed.empty()) return Json::object();
        return plan({{{"id", "bad1"}}, {{"id", "bad2"}, {"assignee", "cyd"}}});
      },
      {.max_patches = 2});
  REQUIRE_OK(WorkflowRun(built(team)).run("goal"));
  CHECK(asked == 2);
}

TEST_CASE("a patch with a circle, a stranger or too much in it is refused, and nothing of it done",
          "[workflow][team]") {
  const auto refused = [](const Json& patch, const std::string& says) {
    WorkflowRun run(
        built(team_of([patch](const TeamQuestion&, Context&) { return patch; }, {.max_tasks = 2})));
    const auto result = run.run("goal");
    CHECK_ERRC(Errc::invalid_argument, result);
    CHECK_THAT(result.error().detail, ContainsSubstring(says));
    CHECK(called(run) == std::set<std::string>{"board", "coordinator"});
  };
  refused(plan({{{"id", "x"}, {"depends_on", {"y"}}}, {{"id", "y"}, {"depends_on", {"x"}}}}),
          "in a circle: x -> y -> x");
  refused(plan({{{"id", "x"}, {"assignee", "bobb"}}}), "did you mean \"bob\"");
  refused(plan({{{"id", "x"}}, {{"id", "y"}}, {{"id", "z"}}}), "allowed are 2");
  refused(plan({{{"id", "x"}, {"depends_on", {"q"}}}}), "\"q\"");
  refused(plan({{{"id", "x"}}, {{"id", "y"}, {"depends_on", {"x", "x"}}}}),
          "task \"y\" depends on \"x\" twice");
  refused({{"supersede", {"x"}}}, "\"x\"");
  refused(3, "object");
  refused({{"adds", Json::array()}}, "did you mean \"add\"");
  refused({{"add", Json::object()}}, "\"add\" is {}; allowed is an array");
  refused({{"retarget", Json::array()}}, "allowed is an object");
  refused({{"supersede", "x"}}, "allowed is an array");
  refused(plan({{{"id", "triage/x"}}}), "\"triage/x\" is not allowed");
  refused(plan({{{"id", "x"}, {"needs", {"y"}}}}), "\"needs\"");
}

TEST_CASE("an agent of a team takes and returns what an agent of a task list may",
          "[workflow][team]") {
  Team team("team");
  team.coordinator([](const TeamQuestion& asked, Context&) {
        if (!asked.failed.empty()) return Json::object();
        return plan({Json{{"id", "a"}, {"assignee", "plain"}},
                     Json{{"id", "b"}, {"assignee", "careful"}},
                     Json{{"id", "c"}, {"assignee", "unable"}}});
      })
      .agent("plain", [](const TaskInput& task) { return task.id + "!"; })
      .agent("careful",
             [](const TaskInput& task, Context&) -> Result<std::string> { return task.id + "?"; })
      .agent("unable", [](const TaskInput&) -> Result<int> {
        return Error{Errc::io, "the disk is full"};
      });
  WorkflowRun run(built(team), {.threads = 1});
  const auto done = run.run("the goal");
  REQUIRE_OK(done);
  const Json& with_context = done.value().value();
  CHECK(with_context.at("outputs") == Json{{"a", "a!"}, {"b", "b?"}});
  CHECK(with_context.at("failed") == Json{{"c", "the disk is full"}});
}

TEST_CASE("a goal may be null, or look like a team's own question", "[workflow][team]") {
  const std::vector<Json> goals{
      nullptr,
      {{"triage.failed", "x"}, {"why", 1}},
      {{"triage.failed", "bad"}, {"why", "too hard"}, {"done", Json::array()}, {"goal", 1}}};
  std::vector<Json> first;
  std::vector<Json> again;
  const Team team = team_of([&](const TeamQuestion& asked, Context&) -> Json {
    (asked.failed.empty() ? first : again).push_back(asked.goal);
    return asked.failed.empty() ? plan({{{"id", "bad"}}}) : Json::object();
  });
  for (const Json& goal : goals) {
    REQUIRE_OK(WorkflowRun(built(team), {.max_supersteps = 20}).run(goal));
  }
  CHECK(first == goals);
  CHECK(again == goals);
  first.clear();
  again.clear();
  const auto outer = built(WorkflowBuilder("outer")
                               .executor("start", stateless([&](const Json&, Context& context) {
                                           for (const Json& goal : goals) context.send(goal);
                                         }))
                               .executor("team", built(team))
                               .start("start")
                               .edge("start", "team"));
  REQUIRE_OK(WorkflowRun(outer).run(1));
  CHECK(first == goals);
  CHECK(again == goals);
}

TEST_CASE("a team refuses an agent's name that is taken", "[workflow][team]") {
  for (const char* taken : {"board", "ann"}) {
    Team team("team");
    team.agent("ann", told).agent(taken, told);
    team.coordinator([](const TeamQuestion&, Context&) { return Json(); });
    const auto refused = team.build();
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("agent \"" + std::string(taken) + "\""));
  }
}

TEST_CASE("null in a task of a patch is the same as nothing", "[workflow][team]") {
  const Team team = team_of([](const TeamQuestion&, Context&) {
    return plan(
        {{{"id", "x"}, {"description", nullptr}, {"depends_on", nullptr}, {"assignee", nullptr}}});
  });
  const auto done = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(done);
  CHECK(done.value().value().at("outputs") == Json{{"x", "x[]"}});
}

TEST_CASE("a coordinator whose patch is refused is told why, and may answer again",
          "[workflow][team]") {
  std::vector<std::string> told_why;
  const Team team = team_of([&](const TeamQuestion& asked, Context&) -> Json {
    if (asked.failed.empty()) {
      told_why.push_back(asked.refused);
      return plan({{{"id", "bad"}, {"assignee", asked.refused.empty() ? "annn" : "ann"}},
                   {{"id", "after"}, {"depends_on", {"bad"}}}});
    }
    CHECK(asked.failed == "bad");
    CHECK(asked.why == "too hard");
    told_why.push_back(asked.refused);
    Json patch = plan({{{"id", "easy"}, {"assignee", "bob"}}});
    patch["supersede"] = {asked.refused.empty() ? "before" : "after"};
    return patch;
  });
  const auto result = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(result);
  CHECK(result.value().value() ==
        Json{{"outputs", {{"easy", "bob:easy"}}}, {"failed", {{"bad", "too hard"}}}});
  REQUIRE(told_why.size() == 4);
  CHECK_THAT(told_why[1], ContainsSubstring("did you mean \"ann\""));
  CHECK(told_why[2].empty());
  CHECK_THAT(told_why[3], ContainsSubstring("\"before\""));
}

TEST_CASE("refused patches count, and the last one ends the run", "[workflow][team]") {
  for (const int most : {1, 2, 3}) {
    int asked = 0;
    const Team team = team_of(
        [&](const TeamQuestion&, Context&) {
          ++asked;
          return Json(3);
        },
        {.max_patches = most});
    const auto result = WorkflowRun(built(team)).run("goal");
    CHECK_ERRC(Errc::invalid_argument, result);
    CHECK(asked == most);
  }
}

TEST_CASE("a team whose patches are used up goes on with more of them", "[workflow][team]") {
  int asked = 0;
  const auto limited = [&](int most) {
    return built(team_of(
        [&](const TeamQuestion&, Context&) {
          return ++asked < 4 ? Json(3) : plan({{{"id", "x"}}});
        },
        {.max_patches = most}));
  };
  const auto store = memory();
  CHECK_ERRC(Errc::invalid_argument,
             WorkflowRun(limited(2), {.run_id = "t", .store = store}).run("goal"));
  const auto done = WorkflowRun(limited(4), {.run_id = "t", .store = store}).resume();
  REQUIRE_OK(done);
  CHECK(asked == 4);
  CHECK(done.value().value().at("outputs") == Json{{"x", "x[]"}});
}

TEST_CASE("a team inside a workflow that has made all its supersteps goes on with more of them",
          "[workflow][team]") {
  const Team team = team_of([](const TeamQuestion&, Context&) {
    Json tasks = plan({{{"id", "t0"}}});
    for (int i = 1; i < 60; ++i) {
      const std::string before = "t" + std::to_string(i - 1);
      tasks["add"].push_back({{"id", "t" + std::to_string(i)}, {"depends_on", {before}}});
    }
    return tasks;
  });
  const auto outer = built(WorkflowBuilder("outer").executor("team", built(team)).start("team"));
  const auto store = memory();
  const auto stopped = WorkflowRun(outer, {.run_id = "t", .store = store}).run("goal");
  CHECK_ERRC(Errc::exhausted, stopped);
  CHECK_THAT(stopped.error().detail, ContainsSubstring("WorkflowRunOptions::max_supersteps"));
  const auto done =
      WorkflowRun(outer, {.run_id = "t", .store = store, .max_supersteps = 200}).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value().at("outputs").size() == 60);
}

TEST_CASE("a team inside a workflow has a plan for each message", "[workflow][team]") {
  const Team team = team_of(
      [](const TeamQuestion& asked, Context&) -> Json {
        if (asked.failed.empty()) {
          return plan({{{"id", asked.goal == "y" ? "bad" : "s"}, {"description", asked.goal}}});
        }
        CHECK(asked.goal == "y");
        return plan({{{"id", "t"}, {"assignee", "bob"}}});
      },
      {.max_tasks = 2, .max_patches = 2});
  const auto outer = built(WorkflowBuilder("outer")
                               .executor("start",
                                         [](const Json&, Context& context) {
                                           for (const char* goal : {"x", "y", "z"}) {
                                             context.send(goal);
                                           }
                                         })
                               .executor("team", built(team))
                               .executor("end", [](const Json& in) { return in; })
                               .start("start")
                               .edge("start", "team")
                               .edge("team", "end"));
  const auto result = WorkflowRun(outer).run(nullptr);
  REQUIRE_OK(result);
  std::multiset<std::string> outputs;
  for (const Output& one : result.value().outputs) outputs.insert(one.value.dump());
  const std::string plain = Json{{"outputs", {{"s", "s[]"}}}, {"failed", Json::object()}}.dump();
  CHECK(outputs ==
        std::multiset<std::string>{
            plain, plain,
            Json{{"outputs", {{"t", "bob:t"}}}, {"failed", {{"bad", "too hard"}}}}.dump()});
}

TEST_CASE("a new task that depends on one that has failed fails too", "[workflow][team]") {
  const bool at_once = GENERATE(true, false);  // Or when another one has failed.
  const Team team = team_of([&](const TeamQuestion& asked, Context&) -> Json {
    if (asked.failed.empty()) {
      return plan({{{"id", "bad"}},
                   {{"id", "x"}, {"assignee", "bob"}},
                   {{"id", "bad too"}, {"depends_on", {"x"}}}});
    }
    if ((asked.failed == "bad") != at_once) return Json::object();
    return plan({{{"id", "late"}, {"depends_on", {"bad"}}},
                 {{"id", "later"}, {"depends_on", {"late"}}},
                 {{"id", "free"}}});
  });
  const auto result = WorkflowRun(built(team)).run("goal");
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 1);
  CHECK(result.value().value() == Json{{"outputs", {{"x", "bob:x"}, {"free", "free[]"}}},
                                       {"failed",
                                        {{"bad", "too hard"},
                                         {"bad too", "too hard"},
                                         {"late", "task \"bad\" failed"},
                                         {"later", "task \"late\" failed"}}}});
}
