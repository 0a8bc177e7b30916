// SPDX-License-Identifier: MIT
// How tasks end, and what those that depend on them see of it.
#include "kit.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/stop.hpp"

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>

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
