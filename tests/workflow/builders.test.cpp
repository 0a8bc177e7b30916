// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/workflow/crew.hpp"
#include "triage/workflow/flow.hpp"
#include "triage/workflow/team.hpp"

#include <atomic>
#include <map>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string told(const TaskInput& task) {
  std::string text = task.id + "[";
  for (const TaskOutput& before : task.context) text += before.task;
  return text + "]";
}

std::map<std::string, Json> outputs_of(const Crew& crew) {
  WorkflowRun run(built(crew));
  REQUIRE_OK(run.run(nullptr));
  std::map<std::string, Json> outputs;
  const auto tasks = crew.tasks(run);
  REQUIRE_OK(tasks);
  for (const TaskView& view : tasks.value()) outputs[view.id] = view.output;
  return outputs;
}

// A team of one agent that fails at tasks called "bad…".
Team team_of(const Team::Coordinator& coordinator, TeamLimits limits = {}) {
  Team team("team", limits);
  team.coordinator(coordinator)
      .agent("ann",
             [](const TaskInput& task, Context&) -> Json {
               if (task.id.rfind("bad", 0) == 0) throw std::runtime_error("too hard");
               return told(task);
             })
      .agent("bob", [](const TaskInput& task, Context&) -> Json { return "bob:" + task.id; });
  return team;
}

Json plan(std::initializer_list<Json> tasks) { return {{"add", Json(Json::array_t(tasks))}}; }

}  // namespace

TEST_CASE("a crew works in sequence, and its async tasks are waited for", "[workflow][crew]") {
  Crew crew("crew");
  crew.agent("worker", told)
      .task({.id = "a"})
      .task({.id = "b", .async = true})
      .task({.id = "c", .async = true})
      .task({.id = "d"})
      .task({.id = "e", .context = std::vector<std::string>{"b"}})
      .task({.id = "f", .context = std::vector<std::string>{}});
  const auto outputs = outputs_of(crew);
  CHECK(outputs.at("b") == "b[a]");
  CHECK(outputs.at("d") == "d[abc]");
  CHECK(outputs.at("e") == "e[b]");
  CHECK(outputs.at("f") == "f[]");
}

TEST_CASE("a crew's manager chooses who does a task", "[workflow][crew]") {
  Crew crew("crew");
  crew.agent("writer", [](const TaskInput& task) { return "written " + task.id; })
      .agent("painter", [](const TaskInput& task) { return "painted " + task.id; })
      .manager(
          [](const TaskInput& task) { return std::string(task.id == "a" ? "writer" : "painter"); })
      .task({.id = "a"})
      .task({.id = "b"});
  const auto outputs = outputs_of(crew);
  CHECK(outputs.at("a") == "written a");
  CHECK(outputs.at("b") == "painted b");
}

TEST_CASE("a crew refuses what cannot be put in sequence", "[workflow][crew]") {
  const auto refused = [](CrewTask first, CrewTask second) {
    Crew crew("crew");
    crew.agent("worker", told).task(std::move(first)).task(std::move(second));
    CHECK_ERRC(Errc::invalid_argument, crew.build());
  };
  const auto yes = [](const TaskInput&) { return true; };
  refused({.id = "a", .condition = yes}, {.id = "b"});
  refused({.id = "a"}, {.id = "b", .async = true, .condition = yes});
  refused({.id = "a", .context = std::vector<std::string>{"b"}}, {.id = "b"});
  refused({.id = "a", .async = true}, {.id = "b", .async = true});
}

TEST_CASE("a flow's routers send labels, its joins wait, and its loops end", "[workflow][flow]") {
  Flow flow("flow");
  flow.start("draft", [](const int& quality) { return quality; })
      .listen("improve", "poor",
              [](const std::string&, Context& context) { return context.occurrence() * 10; })
      .router("judge", any_of({"draft", "improve"}),
              [](const int& quality) { return std::string(quality < 20 ? "poor" : "good"); })
      .listen("print", "good", [](const std::string& label) { return "print " + label; })
      .listen("mail", "good", [](const std::string& label) { return "mail " + label; })
      .listen("done", all_of({"print", "mail"}),
              [](const std::vector<std::string>& both) { return both.at(0) + ", " + both.at(1); });
  const auto result = WorkflowRun(built(flow)).run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == "print good, mail good");
}

TEST_CASE("a flow joins a label with a method", "[workflow][flow]") {
  Flow flow("flow");
  flow.start("a", [](const int& n) { return n; })
      .router("r", "a", [](const int&) { return std::string("go"); })
      .listen("b", "a", [](const int& n) { return n + 1; })
      .listen("both", all_of({"go", "b"}), [](const Json& both) { return both; });
  const auto result = WorkflowRun(built(flow)).run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == Json::array({"go", 2}));
  Flow without("flow");
  without.start("a", [](const int& n) { return n; }).listen("b", "label", [](const Json& j) {
    return j;
  });
  const auto refused = without.build();
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("\"label\""));
}

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
  refused({{"supersede", {"x"}}}, "\"x\"");
  refused(3, "object");
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
  const Json& told = done.value().value();
  CHECK(told.at("outputs") == Json{{"a", "a!"}, {"b", "b?"}});
  CHECK(told.at("failed") == Json{{"c", "the disk is full"}});
}
