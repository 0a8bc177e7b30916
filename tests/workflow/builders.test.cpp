// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/workflow/crew.hpp"
#include "triage/workflow/flow.hpp"
#include "triage/workflow/team.hpp"

#include <map>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::map<std::string, Json> outputs_of(const Crew& crew) {
  WorkflowRun run(built(crew));
  REQUIRE_OK(run.run(nullptr));
  std::map<std::string, Json> outputs;
  const auto tasks = crew.tasks(run);
  REQUIRE_OK(tasks);
  for (const TaskView& view : tasks.value()) outputs[view.id] = view.output;
  return outputs;
}

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

TEST_CASE("a task of a crew that names its agent is not the manager's", "[workflow][crew]") {
  Crew crew("crew");
  crew.agent("writer", [](const TaskInput& task) { return "written " + task.id; })
      .agent("painter", [](const TaskInput& task) { return "painted " + task.id; })
      .manager([](const TaskInput&) { return std::string("writer"); })
      .task({.id = "a", .agent = "painter"})
      .task({.id = "b"});
  const auto outputs = outputs_of(crew);
  CHECK(outputs.at("a") == "painted a");
  CHECK(outputs.at("b") == "written b");
}

TEST_CASE("an agent that is twice in a crew or a task list is refused", "[workflow][crew]") {
  Crew crew("crew");
  crew.agent("ann", told).agent("bob", told).agent("ann", told).task({.id = "a", .agent = "bob"});
  const auto refused = crew.build();
  CHECK_ERRC(Errc::invalid_argument, refused);
  CHECK_THAT(refused.error().detail, ContainsSubstring("agent \"ann\" is twice there"));
}

TEST_CASE("a manager who names a stranger may choose again", "[workflow][crew]") {
  int choices = 0;
  Crew crew("crew");
  crew.agent("writer", told)
      .manager([&](const TaskInput&) { return std::string(++choices == 1 ? "writerr" : "writer"); })
      .task({.id = "a"});
  WorkflowRun run(built(crew), {.run_id = "r", .store = memory()});
  const auto refused = run.run(nullptr);
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().detail,
             ContainsSubstring("\"writerr\"") && ContainsSubstring("did you mean \"writer\""));
  REQUIRE_OK(run.resume());
  CHECK(choices == 2);
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

TEST_CASE("labels of a flow that are joined may be any text", "[workflow][flow]") {
  const std::string long_one(200, 'x');
  Flow flow("flow");
  flow.start("a", [](const int& n) { return n; })
      .router("r1", "a", [](const int&) { return std::string("sehr schön"); })
      .router("r2", "a", [](const int&) { return std::string(200, 'x'); })
      .listen("b", all_of({"sehr schön", "a", long_one}), [](const Json& all) { return all; })
      .listen("c", any_of({"sehr schön", long_one}), [](const std::string& one) { return one; });
  const auto result = WorkflowRun(built(flow)).run(1);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 3);
  CHECK(result.value().value() == Json::array({"sehr schön", 1, long_one}));
}

TEST_CASE("a label of a flow may have a slash", "[workflow][flow]") {
  Flow flow("flow");
  flow.start("a", [](const int& n) { return n; })
      .router("r", "a", [](const int&) { return std::string("needs/edit"); })
      .listen("b", "needs/edit", [](const std::string& label) { return "b heard " + label; });
  const auto result = WorkflowRun(built(flow)).run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == "b heard needs/edit");
}

namespace {

// "b" tells which of these labels it has heard of the router, which says all of them in turn.
std::vector<std::string> heard_by_one(const std::vector<std::string>& labels) {
  std::vector<std::string> heard;
  Flow flow("flow");
  flow.start("a", stateless([&](const Json&, Context& context) {
               for (const std::string& label : labels) context.send(label);
             }))
      .router("r", "a", [](const std::string& label) { return label; })
      .listen("b", any_of(labels), stateless([&](const std::string& label) {
                heard.push_back(label);
                return label;
              }));
  REQUIRE_OK(WorkflowRun(built(flow)).run(nullptr));
  return heard;
}

}  // namespace

TEST_CASE("any two labels of a flow may be listened for by one method", "[workflow][flow]") {
  for (const std::vector<std::string>& labels : std::vector<std::vector<std::string>>{
           {"a/b", "a%2Fb"}, {"a/b", "a%2Fb", "a%252Fb", "%"}, {"a%2Fb", "/", "%2F"}}) {
    CHECK(heard_by_one(labels) == labels);
  }
}

TEST_CASE("any two labels of a flow may be joined", "[workflow][flow]") {
  // The second one is what the first one's stand-in would be called.
  const std::vector<std::string> labels{"x y", "x-y.28ae8551f8419e3d"};
  Flow flow("flow");
  flow.start("a", stateless([&](const Json&, Context& context) {
               for (const std::string& label : labels) context.send(label);
             }))
      .router("r", "a", [](const std::string& label) { return label; })
      .listen("b", all_of(labels), [](const Json& all) { return all; });
  const auto done = WorkflowRun(built(flow)).run(nullptr);
  REQUIRE_OK(done);
  CHECK(done.value().value() == Json(labels));
}

TEST_CASE("labels of a flow that do not collide keep the names that stored runs know",
          "[workflow][flow]") {
  Flow flow("flow");
  flow.start("a", [](const int& n) { return n; })
      .router("r", "a", [](const int&) { return std::string("50%"); })
      .listen("b", any_of({"50%", "a/b", "plain"}), [](const std::string& label) { return label; })
      .listen("c", "a%2Fb", [](const std::string& label) { return label; })
      .listen("d", all_of({"x y", "plain"}), [](const Json& all) { return all; });
  const auto workflow = built(flow);
  for (const char* part : {"edge r=50%->b", "edge r=a%2Fb->b", "edge r=plain->b", "edge r=a%2Fb->c",
                           "executor label:plain", "executor label:x-y.28ae8551f8419e3d"}) {
    INFO(part);
    CHECK(workflow.fingerprint().contains(part));
  }
}

TEST_CASE("an agent of a crew, a task list or a team may ask a person", "[workflow][crew]") {
  const auto ask = [](const TaskInput& task, Context& context) {
    return task.id + ": " + context.request<std::string>("review", task.description);
  };
  const auto answered = [](const Workflow& workflow, const std::string& request) {
    const auto store = memory();
    WorkflowRun run(workflow, {.run_id = "r", .store = store});
    CHECK_ERRC(Errc::suspended, run.run("goal"));
    REQUIRE_OK(run.answer(request, "fine"));
    const auto done = run.resume();
    REQUIRE_OK(done);
  };
  Crew crew("crew");
  crew.port<std::string>("review").agent("ann", ask).task({.id = "a"}).task({.id = "b"});
  {
    const auto store = memory();
    WorkflowRun run(built(crew), {.run_id = "r", .store = store});
    CHECK_ERRC(Errc::suspended, run.run("goal"));
    REQUIRE_OK(run.answer("a/1/review/1", "fine"));
    CHECK_ERRC(Errc::suspended, run.resume());
    REQUIRE_OK(run.answer("b/1/review/1", "good"));
    REQUIRE_OK(run.resume());
    CHECK(crew.tasks(run).value()[0].output == "a: fine");
    CHECK(crew.tasks(run).value()[1].output == "b: good");
  }
  TaskGraph graph("list");
  graph.port<std::string>("review").agent("ann", ask).task({.id = "a"});
  answered(built(graph), "a/1/review/1");
  Team team("team");
  team.port<std::string>("review").agent("ann", ask).coordinator([](const TeamQuestion&, Context&) {
    return Json{{"add", Json::array({Json{{"id", "x"}}})}};
  });
  answered(built(team), "ann/1/review/1");
}

TEST_CASE("crews, task lists and teams take a workflow's options, and tasks their own checkpoints",
          "[workflow][crew]") {
  const CheckpointPolicy none{.on = CheckpointTriggers::none()};
  Crew crew("crew", {.checkpoints = none});
  crew.agent("ann", told)
      .task({.id = "a"})
      .task({.id = "b", .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::task_completed}});
  const auto store = memory();
  WorkflowRun run(built(crew), {.run_id = "r", .store = store});
  REQUIRE_OK(run.run(nullptr));
  std::vector<std::string> triggers;
  const auto made = run.checkpoints();
  REQUIRE_OK(made);
  for (const WorkflowCheckpoint& one : made.value()) triggers.push_back(one.trigger);
  CHECK(triggers == std::vector<std::string>{"run_started", "task_completed/b/1"});

  Team team("team", {}, {.version = "2", .checkpoints = none});
  team.agent("ann", told).coordinator([](const TeamQuestion&, Context&) {
    return Json{{"add", Json::array({Json{{"id", "x"}}})}};
  });
  WorkflowRun of_team(built(team), {.run_id = "team", .store = store});
  REQUIRE_OK(of_team.run("goal"));
  CHECK(of_team.checkpoints().value().size() == 1);
}

TEST_CASE("a task list inside a workflow takes any message, which its first tasks see",
          "[workflow][tasks]") {
  TaskGraph graph("inside");
  graph
      .agent("ann",
             [](const TaskInput& task) -> Json {
               return {task.message, task.context.size()};
             })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}});
  const auto outer = built(WorkflowBuilder("outer")
                               .executor("first", [](const Json& json) { return json; })
                               .executor("tasks", built(graph))
                               .start("first")
                               .edge("first", "tasks"));
  const Json like_an_outcome{{"task", "x"}, {"status", "failed"}};
  for (const Json& message : {Json({1, 2}), like_an_outcome, Json::array({like_an_outcome})}) {
    INFO(message.dump());
    WorkflowRun run(outer, {.run_id = "r", .store = memory()});
    REQUIRE_OK(run.run(message));
    const auto tasks = graph.tasks(run, "tasks");
    REQUIRE_OK(tasks);
    CHECK(tasks.value()[0].status == TaskStatus::completed);
    CHECK(tasks.value()[0].output == Json::array({message, 0}));
    CHECK(tasks.value()[1].output == Json::array({nullptr, 1}));
  }
}

TEST_CASE("a task's context comes before it, in a plan and out of one", "[workflow][tasks]") {
  TaskGraph graph("list");
  graph.agent("ann", told)
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "c", .depends_on = {"b"}, .context_from = {"a"}});
  TaskGraph again("list");
  again.agent("ann", told);
  REQUIRE_OK(again.plan(graph.json()));
  CHECK(again.json() == graph.json());
  WorkflowRun run(built(again));
  REQUIRE_OK(run.run(nullptr));
  CHECK(again.tasks(run).value()[2].output == "c[a]");
  for (const char* wrong : {"d", "bb"}) {
    TaskGraph bad = graph;
    bad.task({.id = "d"}).task({.id = "e", .depends_on = {"b"}, .context_from = {wrong}});
    const auto refused = bad.build();
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail, ContainsSubstring("\"e\"") &&
                                           ContainsSubstring("\"" + std::string(wrong) + "\"") &&
                                           ContainsSubstring("allowed are a, b"));
  }
  const auto misspelt = again.plan({{"tasks", {{{"id", "x"}, {"dependsOn", {"a"}}}}}});
  CHECK_ERRC(Errc::invalid_argument, misspelt);
  CHECK_THAT(misspelt.error().detail, ContainsSubstring("did you mean \"depends_on\""));
  const auto at_the_top = again.plan({{"tasks", Json::array()}, {"taskz", 1}});
  CHECK_ERRC(Errc::invalid_argument, at_the_top);
  CHECK_THAT(at_the_top.error().detail,
             ContainsSubstring("the plan has a member \"taskz\"") && ContainsSubstring("tasks"));
}
