// SPDX-License-Identifier: MIT
// Paused, aborted or stopped runs: running work ends, nothing more starts.
#include "kit.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>
#include <functional>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// a -> b -> c; `meanwhile` is called while a runs.
struct Chain {
  std::function<void(Context&)> meanwhile{};
  std::atomic<int> calls{0};
  Workflow workflow = built(WorkflowBuilder("w")
                                .executor("a", stateless([this](const int& n, Context& context) {
                                            ++calls;
                                            if (meanwhile) meanwhile(context);
                                            return n + 1;
                                          }))
                                .executor("b", stateless([this](const int& n) {
                                            ++calls;
                                            return n + 10;
                                          }))
                                .executor("c", stateless([this](const int& n) {
                                            ++calls;
                                            return n + 100;
                                          }))
                                .start("a")
                                .chain({"a", "b", "c"}));
};

std::map<std::string, Ran> how_they_ran(const WorkflowRun& run) {
  const auto deliveries = run.deliveries();
  REQUIRE_OK(deliveries);
  std::map<std::string, Ran> how;
  for (const DeliveryView& one : deliveries.value()) how[one.executor] = one.how;
  return how;
}

}  // namespace

TEST_CASE("a run that is paused ends when what is at work has finished, and goes on later",
          "[workflow][stop]") {
  Chain chain;
  const auto store = memory();
  WorkflowRun run(chain.workflow, {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::not_found, run.pause());
  chain.meanwhile = [&](Context& context) {
    REQUIRE_OK(run.pause());
    CHECK_FALSE(context.stop_token().stop_requested());  // It may take its time.
  };
  const auto paused = run.run(1);
  CHECK_ERRC(Errc::cancelled, paused);
  CHECK_THAT(paused.error().detail, ContainsSubstring("paused"));
  CHECK(chain.calls == 1);
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::done}, {"b", Ran::pending}});

  // Another process sees it, too.
  WorkflowRun other(chain.workflow, {.run_id = "w", .store = store});
  const auto stopped = other.stopped();
  REQUIRE_OK(stopped);
  REQUIRE(stopped.value().has_value());
  CHECK(stopped.value()->how == StopKind::paused);
  chain.meanwhile = {};
  const auto done = other.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 112);
  CHECK(chain.calls == 3);
  CHECK_FALSE(other.stopped().value().has_value());
  CHECK_FALSE(inspect(*store, "w").value().stopped.has_value());
}

TEST_CASE("what a run that is aborted has not begun is skipped, with why, until it goes on",
          "[workflow][stop]") {
  Chain chain;
  const auto store = memory();
  WorkflowRun run(chain.workflow, {.run_id = "w", .store = store});
  chain.meanwhile = [&](Context& context) {
    REQUIRE_OK(run.pause());
    REQUIRE_OK(run.abort("the customer has left"));
    REQUIRE_OK(run.pause());  // Too late.
    CHECK(context.stop_token().stop_requested());
    CHECK_ERRC(Errc::invalid_argument, run.abort(std::string(5'000, 'x')));
  };
  const auto aborted = run.run(1);
  CHECK_ERRC(Errc::cancelled, aborted);
  CHECK_THAT(aborted.error().detail, ContainsSubstring("aborted: the customer has left"));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::done}, {"b", Ran::skipped}});
  const auto view = inspect(*store, "w");
  REQUIRE_OK(view);
  REQUIRE(view.value().stopped.has_value());
  CHECK(view.value().stopped->how == StopKind::aborted);
  CHECK(view.value().stopped->why == "the customer has left");
  chain.meanwhile = {};
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 112);
  CHECK(chain.calls == 3);
}

TEST_CASE("a run that is stopped between two supersteps has not finished", "[workflow][stop]") {
  Chain chain;
  std::stop_source stop;
  chain.meanwhile = [&](Context&) { stop.request_stop(); };
  const auto store = memory();
  WorkflowRun run(chain.workflow, {.run_id = "w", .store = store, .stop_token = stop.get_token()});
  CHECK_ERRC(Errc::cancelled, run.run(1));
  CHECK(run.stopped().value()->how == StopKind::cancelled);
  chain.meanwhile = {};
  const auto done = WorkflowRun(chain.workflow, {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 112);
}

TEST_CASE("a run that is paused or aborted at its very end has finished", "[workflow][stop]") {
  const bool stored = GENERATE(true, false);
  WorkflowRun* self = nullptr;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           REQUIRE_OK(self->pause());
                                           return n;
                                         }))
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = stored ? memory() : nullptr});
  self = &run;
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 1);
  CHECK_FALSE(run.stopped().value().has_value());
}

TEST_CASE("tasks that an abort or a spent budget has kept from beginning are skipped, with why",
          "[workflow][stop]") {
  const bool aborts = GENERATE(true, false);
  WorkflowRun* self = nullptr;
  auto budget = Budget::create({.max_tokens = 1});
  REQUIRE_OK(budget);
  TaskGraph graph("plan");
  graph.agent("worker", [&](const TaskInput& task, Context& context) -> Result<Json> {
    if (task.id == "b" && aborts) REQUIRE_OK(self->abort("enough"));
    if (task.id == "b" && !aborts)
      context.reserve({.input_tokens = 1}).value().settle({.input_tokens = 1});
    return Json(task.id);
  });
  graph.task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}})
      .task({.id = "c", .depends_on = {"b"}})
      .task({.id = "d", .depends_on = {"c"}});
  const auto store = memory();
  WorkflowRun run(built(graph),
                  {.run_id = "w", .store = store, .threads = 1, .budget = budget.value()});
  self = &run;
  CHECK_ERRC(aborts ? Errc::cancelled : Errc::exhausted, run.run(nullptr));
  const auto check = [&](const WorkflowRun& looked_at) {
    const auto views = graph.tasks(looked_at);
    REQUIRE_OK(views);
    CHECK(views.value()[1].status == TaskStatus::completed);
    for (const std::size_t i : {2U, 3U}) {
      CHECK(views.value()[i].status == TaskStatus::skipped);
      CHECK_THAT(views.value()[i].why, ContainsSubstring(aborts ? "aborted: enough" : "budget"));
    }
  };
  check(run);
  check(WorkflowRun(built(graph), {.run_id = "w", .store = store}));
  WorkflowRun more(built(graph), {.run_id = "w", .store = store});
  self = &more;
  REQUIRE_OK(more.resume());
  const auto after = graph.tasks(more);
  REQUIRE_OK(after);
  for (const TaskView& view : after.value()) CHECK(view.status == TaskStatus::completed);
}
