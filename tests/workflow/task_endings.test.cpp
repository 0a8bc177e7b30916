// SPDX-License-Identifier: MIT
// How tasks end, and what those that depend on them see of it.
#include "kit.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

// What a task sees of those before it: {id: output}.
Json seen_by(const TaskInput& task) {
  Json seen = Json::object();
  for (const TaskOutput& before : task.context) seen[before.task] = before.output;
  return seen;
}

std::map<std::string, TaskView> views_of(const TaskGraph& graph, const WorkflowRun& run) {
  const auto tasks = graph.tasks(run);
  REQUIRE_OK(tasks);
  std::map<std::string, TaskView> by_id;
  for (const TaskView& view : tasks.value()) by_id[view.id] = view;
  return by_id;
}

}  // namespace

TEST_CASE("the fallback of a task's policy is its output", "[workflow][tasks]") {
  FailurePolicy falls_back;
  falls_back.otherwise(fallback(Json{{"pages", 0}}));
  const bool by_default = GENERATE(true, false);
  TaskGraph graph("plan",
                  {.defaults = {.policy = by_default ? std::optional(falls_back) : std::nullopt}});
  std::atomic<bool> broken{true};
  graph.agent("w", [&broken](const TaskInput& task) -> Json {
    if (task.id == "a" || (task.id == "last" && broken)) throw std::runtime_error("down");
    return seen_by(task);
  });
  Task a{.id = "a"};
  if (!by_default) a.policy = falls_back;
  graph.task(std::move(a)).task({.id = "b"}).task({.id = "c", .depends_on = {"a", "b"}});
  FailurePolicy fails;
  fails.otherwise(escalate());
  graph.task({.id = "last", .depends_on = {"c"}, .context = TaskContext::all, .policy = fails});
  const auto store = GENERATE(memory(), nullptr);
  WorkflowRun run(built(graph), {.run_id = "w", .store = store});
  if (store) {
    CHECK_ERRC(Errc::escalated, run.run(nullptr));
    broken = false;
    REQUIRE_OK(run.resume());
  } else {
    broken = false;
    REQUIRE_OK(run.run(nullptr));
  }
  const auto tasks = views_of(graph, run);
  CHECK(tasks.at("a").status == TaskStatus::completed);
  CHECK(tasks.at("a").output == Json{{"pages", 0}});
  CHECK(tasks.at("c").output == Json{{"a", {{"pages", 0}}}, {"b", Json::object()}});
  CHECK(tasks.at("last").output.at("a") == Json{{"pages", 0}});
}

TEST_CASE("an output that is null is one like any other", "[workflow][tasks]") {
  TaskGraph graph("plan");
  graph
      .agent("w",
             [](const TaskInput& task) -> Json {
               if (task.id == "a") return task.message;
               return seen_by(task);
             })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "c", .depends_on = {"b"}, .context = TaskContext::all});
  const auto outer = built(WorkflowBuilder("outer")
                               .executor("start",
                                         [](const Json&, Context& context) {
                                           context.send("first");
                                           context.send(nullptr);
                                         })
                               .executor("tasks", built(graph))
                               .start("start")
                               .edge("start", "tasks"));
  const auto store = memory();
  WorkflowRun run(outer, {.run_id = "w", .store = store});
  REQUIRE_OK(run.run(nullptr));
  const auto tasks = graph.tasks(run, "tasks");
  REQUIRE_OK(tasks);
  CHECK(tasks.value()[0].output == nullptr);
  CHECK(tasks.value()[1].output == Json{{"a", nullptr}});
  CHECK(tasks.value()[2].output == Json{{"a", nullptr}, {"b", {{"a", nullptr}}}});
}

TEST_CASE("an edit may make an output null, or no longer null", "[workflow][tasks]") {
  const Json first = GENERATE(Json(), Json(2));
  TaskGraph graph("plan");
  graph
      .agent(
          "w",
          [first](const TaskInput& task) -> Json { return task.id == "a" ? first : seen_by(task); })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}});
  const auto store = memory();
  WorkflowRun run(built(graph), {.run_id = "w", .store = store});
  REQUIRE_OK(run.run(nullptr));
  std::string from = last_checkpoint(run);
  Json before = first;
  for (const Json& edit : {Json(), Json(3), Json(), Json(4)}) {
    if (edit == std::exchange(before, edit)) continue;  // Nothing is edited.
    WorkflowRun branch(built(graph), {.store = store});
    REQUIRE_OK(branch.fork(from, {.outputs = {{"a", edit}}}));
    CHECK(views_of(graph, branch).at("a").output == edit);
    CHECK(views_of(graph, branch).at("b").output == Json{{"a", edit}});
    from = last_checkpoint(branch);
  }
}

TEST_CASE("a task that fails because of another follows its own rule for those after it",
          "[workflow][tasks]") {
  const auto end_of = [](OnFailure a, OnFailure b) {
    TaskGraph graph("plan");
    graph
        .agent("w",
               [](const TaskInput& task) -> Json {
                 if (task.id == "a") throw std::runtime_error("down");
                 return seen_by(task);
               })
        .task({.id = "a", .on_failure = a})
        .task({.id = "b", .depends_on = {"a"}, .on_failure = b})
        .task({.id = "c", .depends_on = {"b"}, .context = TaskContext::all})
        .task({.id = "d", .depends_on = {"c"}});
    WorkflowRun run(built(graph));
    CHECK_FALSE(run.run(nullptr).has_value());
    const auto tasks = views_of(graph, run);
    CHECK(tasks.at("b").status ==
          (a == OnFailure::skip ? TaskStatus::skipped : TaskStatus::failed));
    CHECK(tasks.at("d").status == tasks.at("c").status);
    return tasks.at("c").status;
  };
  CHECK(end_of(OnFailure::cascade, OnFailure::cascade) == TaskStatus::failed);
  CHECK(end_of(OnFailure::cascade, OnFailure::skip) == TaskStatus::skipped);
  CHECK(end_of(OnFailure::cascade, OnFailure::carry_on) == TaskStatus::completed);
  CHECK(end_of(OnFailure::skip, OnFailure::cascade) == TaskStatus::skipped);
  CHECK(end_of(OnFailure::skip, OnFailure::skip) == TaskStatus::skipped);
  CHECK(end_of(OnFailure::skip, OnFailure::carry_on) == TaskStatus::completed);
}

TEST_CASE("a failed task that is tried again is in progress, and those after it wait",
          "[workflow][tasks]") {
  WorkflowRun* self = nullptr;
  std::map<std::string, TaskView> seen;
  TaskGraph graph("plan");
  graph
      .agent("w",
             [&](const TaskInput& task) -> Json {
               if (task.id != "a") return 1;
               if (self == nullptr) throw std::runtime_error("down");
               seen = views_of(graph, *self);
               return 1;
             })
      .task({.id = "c", .depends_on = {"b"}})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "a"})
      .task({.id = "other"});
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(graph), {.run_id = "w", .store = store}).run(nullptr).has_value());
  WorkflowRun again(built(graph), {.run_id = "w", .store = store, .threads = 1});
  self = &again;
  REQUIRE_OK(again.resume());
  CHECK(seen.at("a").status == TaskStatus::in_progress);
  CHECK(seen.at("a").why.empty());
  CHECK(seen.at("b").status == TaskStatus::blocked);
  CHECK(seen.at("c").status == TaskStatus::blocked);
  CHECK(seen.at("other").status == TaskStatus::completed);
}

TEST_CASE("during a second message to a task list, its tasks show nothing of the first",
          "[workflow][tasks]") {
  WorkflowRun* self = nullptr;
  std::vector<TaskView> seen;
  TaskGraph graph("plan");
  graph
      .agent("w",
             [&](const TaskInput& task, Context& context) -> Json {
               if (context.occurrence() == 2 && task.id == "a") {
                 seen = graph.tasks(*self, "tasks").value();
               }
               return 1;
             })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}});
  WorkflowRun run(built(WorkflowBuilder("outer")
                            .executor("start", [](const Json& json) { return json; })
                            .executor("tasks", built(graph))
                            .executor("again",
                                      [](const Json&, Context& context) {
                                        if (context.occurrence() == 1) context.send("again");
                                      })
                            .start("start")
                            .chain({"start", "tasks", "again", "tasks"})),
                  {.run_id = "w", .store = memory(), .threads = 1});
  self = &run;
  REQUIRE_OK(run.run("first"));
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].status == TaskStatus::in_progress);
  CHECK(seen[1].status == TaskStatus::blocked);
  CHECK(seen[1].output == nullptr);
}

TEST_CASE("what followed a failure runs again, though the retry is interrupted before it",
          "[workflow][tasks][resume]") {
  std::atomic<bool> broken{true};
  WorkflowRun* under_way = nullptr;
  TaskGraph graph("list");
  graph.agent("w", [&](const TaskInput& task) -> Json {
    if (task.id == "a" && broken) throw std::runtime_error("down");
    if (under_way != nullptr) REQUIRE_OK(under_way->pause());
    return told(task);
  });
  const auto rule = GENERATE(OnFailure::cascade, OnFailure::skip);
  graph.task({.id = "a", .on_failure = rule})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "c", .depends_on = {"b"}});
  const auto store = memory();
  const auto go_on = [&](bool pauses) {
    WorkflowRun run(built(graph), {.run_id = "w", .store = store, .threads = 1});
    under_way = pauses ? &run : nullptr;
    const auto done = run.start_or_resume(nullptr);
    under_way = nullptr;
    return std::pair(done.has_value(), views_of(graph, run));
  };
  CHECK_FALSE(go_on(false).first);
  broken = false;
  CHECK_FALSE(go_on(true).first);
  const auto [done, views] = go_on(false);
  CHECK(done);
  CHECK(views.at("b").output == "b[a]");
  CHECK(views.at("c").output == "c[b]");
}

TEST_CASE("why a task failed says how an effect in doubt is settled", "[workflow][tasks]") {
  TaskGraph graph("plan");
  graph.agent("payer", [](const TaskInput&, Context& context) {
    return context.effect("pay", []() -> std::string { throw std::runtime_error("lost"); });
  });
  graph.task({.id = "a",
              .on_failure = OnFailure::carry_on,
              .policy = FailurePolicy().otherwise(retry({.max_attempts = 3}))});
  WorkflowRun run(built(graph), {.run_id = "r", .store = MemoryStore::create()});
  static_cast<void>(run.run(nullptr));
  CHECK_THAT(graph.tasks(run).value()[0].why, ContainsSubstring("triage settle r "));
}
