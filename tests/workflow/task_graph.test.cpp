// SPDX-License-Identifier: MIT
#include "driver/stored_run.hpp"
#include "kit.hpp"
#include "triage/workflow/crew.hpp"

#include <atomic>
#include <map>
#include <stdexcept>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// An agent that returns what it was told; tasks in `broken` fail.
TaskGraph telling(const std::set<std::string>* broken = nullptr) {
  TaskGraph graph("plan");
  graph.agent("teller", [broken](const TaskInput& task) -> std::string {
    if (broken != nullptr && broken->contains(task.id)) throw std::runtime_error("out of paper");
    std::string text = task.id;
    for (const TaskOutput& before : task.context)
      text += "(" + before.output.get<std::string>() + ")";
    return text;
  });
  return graph;
}

std::map<std::string, TaskView> views(const TaskGraph& graph, const WorkflowRun& run) {
  const auto tasks = graph.tasks(run);
  REQUIRE_OK(tasks);
  std::map<std::string, TaskView> by_id;
  for (const TaskView& view : tasks.value()) by_id[view.id] = view;
  return by_id;
}

void check_graph_refused(const TaskGraph& graph, const std::string& says) {
  const auto workflow = graph.build();
  CHECK_ERRC(Errc::invalid_argument, workflow);
  CHECK_THAT(workflow.error().detail, ContainsSubstring(says));
}

}  // namespace

TEST_CASE("a task runs after those it depends on and sees their outputs", "[workflow][tasks]") {
  TaskGraph graph = telling();
  graph.task({.id = "a"})
      .task({.id = "b"})
      .task({.id = "c", .depends_on = {"a", "b"}})
      .task({.id = "d", .depends_on = {"c"}, .context = TaskContext::all})
      .task({.id = "e", .depends_on = {"c"}, .context = TaskContext::none});
  WorkflowRun run(built(graph));
  REQUIRE_OK(run.run({{"goal", "tell"}}));
  const auto tasks = views(graph, run);
  CHECK(tasks.at("c").output == "c(a)(b)");
  CHECK(tasks.at("d").output == "d(a)(b)(c(a)(b))");
  CHECK(tasks.at("e").output == "e");
  CHECK(tasks.at("e").status == TaskStatus::completed);
}

TEST_CASE("what depends on a failed task fails, is skipped, or goes on without it",
          "[workflow][tasks]") {
  const std::set<std::string> broken{"a"};
  const auto run_with = [&](OnFailure rule) {
    TaskGraph graph = telling(&broken);
    graph.task({.id = "a", .on_failure = rule})
        .task({.id = "b"})
        .task({.id = "c", .depends_on = {"a", "b"}})
        .task({.id = "d", .depends_on = {"c"}});
    WorkflowRun run(built(graph));
    const auto result = run.run(nullptr);
    CHECK(result.has_value() == (rule == OnFailure::carry_on));
    auto tasks = views(graph, run);
    CHECK(tasks.at("a").status == TaskStatus::failed);
    CHECK(tasks.at("a").why == "out of paper");
    CHECK(tasks.at("b").status == TaskStatus::completed);
    return tasks;
  };
  auto tasks = run_with(OnFailure::cascade);
  CHECK(tasks.at("c").status == TaskStatus::failed);
  CHECK(tasks.at("d").status == TaskStatus::failed);
  tasks = run_with(OnFailure::skip);
  CHECK(tasks.at("c").status == TaskStatus::skipped);
  CHECK(tasks.at("d").status == TaskStatus::skipped);
  tasks = run_with(OnFailure::carry_on);
  CHECK(tasks.at("c").output == "c(b)");
  CHECK(tasks.at("d").output == "d(c(b))");
}

TEST_CASE("a task whose condition does not hold is skipped and the next one runs",
          "[workflow][tasks]") {
  TaskGraph graph = telling();
  graph.task({.id = "a"})
      .task({.id = "b",
             .depends_on = {"a"},
             .condition = [](const TaskInput& task) { return task.context.empty(); }})
      .task({.id = "c", .depends_on = {"b"}});
  WorkflowRun run(built(graph));
  REQUIRE_OK(run.run(nullptr));
  CHECK(views(graph, run).at("b").status == TaskStatus::skipped);
  CHECK(views(graph, run).at("c").output == "c");
}

TEST_CASE("going on tries failed tasks again, with what depends on them, and nothing else",
          "[workflow][tasks]") {
  const auto store = memory();
  std::set<std::string> broken{"b"};
  TaskGraph graph = telling(&broken);
  graph.task({.id = "a"})
      .task({.id = "b"})
      .task({.id = "c", .depends_on = {"a", "b"}})
      .task({.id = "d", .depends_on = {"a"}});
  WorkflowRun first(built(graph), {.run_id = "w", .store = store});
  const auto failed = first.start_or_resume(nullptr);
  CHECK_ERRC(Errc::escalated, failed);
  CHECK_THAT(failed.error().detail, ContainsSubstring("out of paper"));
  broken.clear();
  WorkflowRun kept(built(graph), {.run_id = "w", .store = store, .retry_failed = false});
  CHECK_ERRC(Errc::escalated, kept.start_or_resume(nullptr));
  CHECK(kept.handler_calls() == 0);
  WorkflowRun second(built(graph), {.run_id = "w", .store = store});
  REQUIRE_OK(second.start_or_resume(nullptr));
  CHECK(called(second) == std::set<std::string>{"b", "c"});
  CHECK(views(graph, second).at("c").output == "c(a)(b)");
}

TEST_CASE("a plan is JSON, and comes back as it was", "[workflow][tasks]") {
  TaskGraph graph = telling();
  graph.task({.id = "a", .description = "first", .assignee = "teller"})
      .task({.id = "b", .depends_on = {"a"}, .on_failure = OnFailure::skip});
  TaskGraph again = telling();
  REQUIRE_OK(again.plan(graph.json()));
  CHECK(again.json() == graph.json());
  REQUIRE_OK(WorkflowRun(built(again)).run(nullptr));
  CHECK_ERRC(Errc::invalid_argument, again.plan({{"tasks", 3}}));
  CHECK_ERRC(Errc::invalid_argument, again.plan({{"tasks", {{{"name", "x"}}}}}));
  const auto unknown = again.plan({{"tasks", {{{"id", "x"}, {"on_failure", "skipp"}}}}});
  CHECK_ERRC(Errc::invalid_argument, unknown);
  CHECK_THAT(unknown.error().detail, ContainsSubstring("cascade"));
}

TEST_CASE("circles, unknown tasks and strangers are refused before anything runs",
          "[workflow][tasks]") {
  check_graph_refused(telling()
                          .task({.id = "a", .depends_on = {"c"}})
                          .task({.id = "b", .depends_on = {"a"}})
                          .task({.id = "c", .depends_on = {"b"}}),
                      "a -> c -> b -> a");
  check_graph_refused(telling().task({.id = "a", .depends_on = {"a"}}), "itself");
  check_graph_refused(telling().task({.id = "a", .depends_on = {"bb"}}), "\"bb\"");
  check_graph_refused(telling().task({.id = "a"}).task({.id = "a"}), "twice");
  check_graph_refused(telling().task({.id = "a"}).task({.id = "b", .depends_on = {"a", "a"}}),
                      "task \"b\" depends on \"a\" twice");
  check_graph_refused(telling()
                          .task({.id = "a"})
                          .task({.id = "b", .depends_on = {"a"}, .context_from = {"a", "a"}}),
                      "task \"b\" has the context \"a\" twice");
  check_graph_refused(telling().task({.id = "a", .assignee = "tellar"}), "did you mean \"teller\"");
  check_graph_refused(telling(), "no tasks");
}

TEST_CASE("while a plan is worked on, its tasks say how far they are", "[workflow][tasks]") {
  const bool stored = GENERATE(true, false);
  WorkflowRun* self = nullptr;
  std::map<std::string, TaskStatus> seen;
  TaskGraph graph("plan");
  graph.agent("looker", [&](const TaskInput& task) -> Result<Json> {
    if (task.id != "b") return Json(task.id);
    const auto views = graph.tasks(*self);
    if (!views) return views.error();
    for (const TaskView& view : views.value()) seen[view.id] = view.status;
    return Json(task.id);
  });
  graph.task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "c", .depends_on = {"a", "b"}})
      .task({.id = "d", .depends_on = {"c"}});
  WorkflowRun run(built(graph),
                  {.run_id = "w", .store = stored ? memory() : nullptr, .threads = 1});
  self = &run;
  REQUIRE_OK(run.run(nullptr));
  CHECK(seen.at("b") == TaskStatus::in_progress);
  CHECK(seen.at("c") == TaskStatus::blocked);
  CHECK(seen.at("d") == TaskStatus::blocked);
  if (stored) CHECK(seen.at("a") == TaskStatus::completed);
  const auto after = graph.tasks(run);
  REQUIRE_OK(after);
  for (const TaskView& view : after.value()) CHECK(view.status == TaskStatus::completed);
}

namespace {

// "a" returns the message, "b" what it sees of "a"; both are noted.
TaskGraph passing_on(std::vector<std::string>& seen) {
  TaskGraph graph("inside");
  graph
      .agent("worker",
             [&](const TaskInput& task) {
               const Json& got = task.id == "a" ? task.message : task.context.at(0).output;
               seen.push_back(task.id + " " + got.get<std::string>());
               return got;
             })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}});
  return graph;
}

// The messages "x" and "y" to what is inside.
Workflow asked_twice(const Workflow& inside) {
  return built(WorkflowBuilder("outer")
                   .executor("start",
                             [](const Json&, Context& context) {
                               context.send("x");
                               context.send("y");
                             })
                   .executor("tasks", inside)
                   .start("start")
                   .edge("start", "tasks"));
}

}  // namespace

TEST_CASE("a task list inside a workflow keeps the outputs of one message from those of another",
          "[workflow][tasks]") {
  std::vector<std::string> seen;
  const TaskGraph graph = passing_on(seen);
  const auto store = memory();
  WorkflowRun run(asked_twice(built(graph)), {.run_id = "w", .store = store, .threads = 1});
  REQUIRE_OK(run.run(nullptr));
  CHECK(seen == std::vector<std::string>{"a x", "a y", "b x", "b y"});
  const auto output_of = [&](const WorkflowRun& shown, std::size_t task) {
    const auto tasks = graph.tasks(shown, "tasks");
    REQUIRE_OK(tasks);
    return tasks.value()[task].output;
  };
  CHECK(output_of(run, 1) == "y");
  // An edit of an output is one of the last.
  const std::string from = to_string(run.checkpoints().value().back().id);
  seen.clear();
  WorkflowRun branch(asked_twice(built(graph)), {.run_id = "b", .store = store, .threads = 1});
  REQUIRE_OK(branch.fork(from, {.outputs = {{"tasks/a", "z"}}}));
  CHECK(seen == std::vector<std::string>{"b z"});
  CHECK(output_of(branch, 0) == "z");

  // Earlier versions stored the output for every message under the task's name.
  const auto latest = store->latest("w");
  REQUIRE_OK(latest);
  Json done = *latest.value().state.find("triage/done/tasks/a/2");
  done["wrote"][0][1] = "a";
  const Json changed{{"triage/done/tasks/a/2", done}, {"triage/done/tasks/b/2", nullptr}};
  REQUIRE_OK(workflow::detail::make_branch(store, "outer", from, "old", changed, {}));
  seen.clear();
  WorkflowRun old(asked_twice(built(graph)), {.run_id = "old", .store = store, .threads = 1});
  REQUIRE_OK(old.resume());
  CHECK(seen == std::vector<std::string>{"b y"});
  CHECK(output_of(old, 0) == "y");
}

TEST_CASE("a manager of a crew inside a workflow chooses again for each message",
          "[workflow][crew]") {
  Crew crew("crew");
  std::vector<std::string> done;
  crew.agent("ann",
             [&](const TaskInput&) {
               done.emplace_back("ann");
               return 1;
             })
      .agent("bob",
             [&](const TaskInput&) {
               done.emplace_back("bob");
               return 1;
             })
      .manager(
          [](const TaskInput& task) { return std::string(task.message == "x" ? "ann" : "bob"); })
      .task({.id = "a"});
  WorkflowRun run(asked_twice(built(crew)), {.run_id = "w", .store = memory(), .threads = 1});
  REQUIRE_OK(run.run(nullptr));
  CHECK(done == std::vector<std::string>{"ann", "bob"});
}

TEST_CASE("what comes out of a task list has the last tasks' outputs", "[workflow][tasks]") {
  TaskGraph graph = telling();
  graph.task({.id = "a"}).task({.id = "b", .depends_on = {"a"}});
  const auto store = memory();
  WorkflowRun alone(built(graph), {.run_id = "alone", .store = store});
  const auto result = alone.run(nullptr);
  REQUIRE_OK(result);
  const Json said{{"task", "b"}, {"status", "completed"}, {"output", "b(a)"}};
  CHECK(result.value().value() == said);
  // An edit of the output is in it, too.
  const std::string last = to_string(alone.checkpoints().value().back().id);
  WorkflowRun branch(built(graph), {.run_id = "branch", .store = store});
  const auto edited = branch.fork(last, {.label = "e", .outputs = {{"b", "mine"}}});
  REQUIRE_OK(edited);
  CHECK(edited.value().value().at("output") == "mine");
  CHECK(views(graph, branch).at("b").output == "mine");

  const auto outer = built(WorkflowBuilder("outer")
                               .executor("tasks", built(graph))
                               .executor("next", [](const Json& got) { return got.at("output"); })
                               .start("tasks")
                               .edge("tasks", "next"));
  const auto inside = WorkflowRun(outer).run(nullptr);
  REQUIRE_OK(inside);
  CHECK(inside.value().value() == "b(a)");
}

TEST_CASE("a run goes on with another version of the task that failed", "[workflow][tasks]") {
  const auto store = memory();
  std::set<std::string> broken{"b"};
  const auto graph = [&](const char* version) {
    TaskGraph tasks = telling(&broken);
    tasks.task({.id = "a"})
        .task({.id = "b", .version = version})
        .task({.id = "c", .depends_on = {"b"}});
    return tasks;
  };
  CHECK_ERRC(Errc::escalated,
             WorkflowRun(built(graph("1")), {.run_id = "w", .store = store}).run(nullptr));
  broken.clear();
  WorkflowRun mended(built(graph("2")), {.run_id = "w", .store = store});
  REQUIRE_OK(mended.resume());
  CHECK(called(mended) == std::set<std::string>{"b", "c"});
  CHECK(views(graph("2"), mended).at("c").output == "c(b)");
  CHECK_ERRC(Errc::conflict,
             WorkflowRun(built(graph("3")), {.run_id = "w", .store = store}).resume());
}

TEST_CASE("a failed task that others go on without is edited, however long its reason is",
          "[workflow][tasks]") {
  const std::size_t length = GENERATE(std::size_t{10}, std::size_t{700});
  const auto store = memory();
  TaskGraph graph("tasks");
  graph
      .agent("ann",
             [length](const TaskInput& task) -> Json {
               if (task.id == "a") throw std::runtime_error(std::string(length, 'x'));
               return task.context.empty() ? Json("none") : task.context.front().output;
             })
      .task({.id = "a", .on_failure = OnFailure::carry_on})
      .task({.id = "b", .depends_on = {"a"}});
  WorkflowRun run(built(graph), {.run_id = "w", .store = store});
  REQUIRE_OK(run.run(nullptr));
  const std::string last = to_string(run.checkpoints().value().back().id);
  WorkflowRun branch(built(graph), {.run_id = "b", .store = store});
  REQUIRE_OK(branch.fork(last, {.label = "e", .outputs = {{"a", "mended"}}}));
  CHECK(views(graph, branch).at("a").output == "mended");
  CHECK(views(graph, branch).at("b").output == "mended");
}
