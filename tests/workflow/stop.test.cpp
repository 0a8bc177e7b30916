// SPDX-License-Identifier: MIT
// Paused, aborted or stopped runs: running work ends, nothing more starts.
#include "kit.hpp"
#include "support/wait_until.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/workflow/inspect.hpp"

#include <atomic>
#include <chrono>
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

// Whoever sleeps by it calls `meanwhile`, and sleeps on unless that has ended the sleep.
class Meanwhile final : public Clock {
 public:
  TimePoint now() override { return TimePoint(Duration(now_)); }
  WallTime wall_now() override { return WallTime(); }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    if (meanwhile) meanwhile();
    if (stop.stop_requested()) return false;
    now_ = when.time_since_epoch().count();
    return true;
  }
  std::function<void()> meanwhile{};

 private:
  std::atomic<Duration::rep> now_{0};
};

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

TEST_CASE(
    "a pause or an abort ends a wait before another attempt, which is made when the run goes on",
    "[workflow][stop]") {
  const bool aborts = GENERATE(true, false);
  const std::size_t threads = GENERATE(1U, 2U);
  std::atomic<int> tries{0};
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 2, .delay = std::chrono::hours(1)}));
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           if (++tries == 1) throw std::runtime_error("not yet");
                                           return n + 1;
                                         }),
                                         {.policy = policy})
                               .start("a"));
  const auto clock = std::make_shared<Meanwhile>();
  const auto store = memory();
  WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = threads, .clock = clock});
  clock->meanwhile = [&] { REQUIRE_OK(aborts ? run.abort("enough") : run.pause()); };
  CHECK_ERRC(Errc::cancelled, run.run(1));
  CHECK(tries == 1);
  REQUIRE(run.stopped().value().has_value());
  CHECK(run.stopped().value()->how == (aborts ? StopKind::aborted : StopKind::paused));
  CHECK(how_they_ran(run).at("a") == (aborts ? Ran::skipped : Ran::pending));
  clock->meanwhile = {};
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
  CHECK(tries == 2);
}

TEST_CASE("an executor that gives up because the run is aborted has not failed",
          "[workflow][stop]") {
  WorkflowRun* self = nullptr;
  std::atomic<int> calls{0};
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", stateless([&](const int& n, Context& context) -> Result<int> {
                            if (++calls > 1) return n;
                            REQUIRE_OK(self->abort("enough"));
                            CHECK(context.stop_token().stop_requested());
                            return Error{Errc::cancelled, "I was told to stop"};
                          }))
                .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  self = &run;
  CHECK_ERRC(Errc::cancelled, run.run(1));
  REQUIRE(run.stopped().value().has_value());
  CHECK(run.stopped().value()->why == "enough");
  CHECK(how_they_ran(run).at("a") == Ran::skipped);
  REQUIRE_OK(run.resume());
  CHECK(calls == 2);
}

TEST_CASE("a pause is not forgotten when the workflow rolls back at the same time",
          "[workflow][stop]") {
  WorkflowRun* self = nullptr;
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise(rollback());
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           if (++calls > 1) return n;
                                           REQUIRE_OK(self->pause());
                                           throw std::runtime_error("that went wrong");
                                         }),
                                         {.policy = policy, .rollback = RollbackScope::workflow})
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  self = &run;
  CHECK_ERRC(Errc::cancelled, run.run(1));
  CHECK(calls == 1);
  REQUIRE(run.stopped().value().has_value());
  CHECK(run.stopped().value()->how == StopKind::paused);
  REQUIRE_OK(run.resume());
  CHECK(calls == 2);
  CHECK_ERRC(Errc::not_found, run.pause());
}

TEST_CASE("a budget that is spent is an event, at once and in the store", "[workflow][stop]") {
  auto budget = Budget::create({.max_tokens = 1});
  REQUIRE_OK(budget);
  std::atomic<int> told{0};
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("a", stateless([&](const int& n, Context& context) {
                      context.reserve({.input_tokens = 1}).value().settle({.input_tokens = 1});
                      return n;
                    }))
          .executor("b", stateless([](const int& n) { return n; }))
          .start("a")
          .edge("a", "b"));
  const auto store = memory();
  WorkflowRun run(graph, {.run_id = "w",
                          .store = store,
                          .budget = budget.value(),
                          .on_event = [&](const WorkflowEvent& event) {
                            if (event.kind == WorkflowEventKind::budget_spent) ++told;
                          }});
  CHECK_ERRC(Errc::exhausted, run.run(1));
  CHECK(told == 1);
  const auto all = events(*store, "w");
  REQUIRE_OK(all);
  int stored = 0;
  for (const WorkflowEvent& event : all.value()) {
    if (event.kind != WorkflowEventKind::budget_spent) continue;
    ++stored;
    CHECK(event.value == Json::array({Json::array({"b", 1})}));
  }
  CHECK(stored == 1);
  CHECK(to_string(WorkflowEventKind::budget_spent) == "budget_spent");
}

TEST_CASE("a run that is aborted says so although something fails because of it",
          "[workflow][stop]") {
  const bool aborts = GENERATE(true, false);
  WorkflowRun* self = nullptr;
  std::atomic<bool> works{false};
  const auto work = stateless([&](const int& n) -> Result<int> {
    if (works) return n;
    REQUIRE_OK(aborts ? self->abort("enough") : self->pause());
    return Error{Errc::io, "the line is dead"};
  });
  const auto graph =
      built(WorkflowBuilder("w").executor("a", work).executor("b", work).start("a").start("b"));
  const auto store = memory();
  WorkflowRun run(graph, {.run_id = "w", .store = store, .threads = 1});
  self = &run;
  const auto failed = run.run(1);
  CHECK_ERRC(aborts ? Errc::cancelled : Errc::io, failed);
  CHECK_THAT(failed.error().detail, ContainsSubstring(aborts ? "enough" : "the line is dead"));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{
                                 {"a", Ran::failed}, {"b", aborts ? Ran::skipped : Ran::pending}});
  const auto stopped = WorkflowRun(graph, {.run_id = "w", .store = store}).stopped();
  REQUIRE_OK(stopped);
  REQUIRE(stopped.value().has_value());
  CHECK(stopped.value()->how == (aborts ? StopKind::aborted : StopKind::paused));
  works = true;
  REQUIRE_OK(run.resume());
}

TEST_CASE("a pause ends waiting in line for a resource, which is waited for when the run goes on",
          "[workflow][stop]") {
  std::atomic<bool> begun{false};
  std::atomic<bool> acts{false};
  std::atomic<bool> gave_up{false};
  struct AtTheEnd {
    std::atomic<bool>& flag;
    ~AtTheEnd() { flag = true; }
  };
  WorkflowRun* self = nullptr;
  bool in_time = false;
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("first", stateless([&](const int&, Context& context) {
                            return context.effect_on("account", "first", [&] {
                              acts = true;
                              wait_until(begun);
                              REQUIRE_OK(self->pause());
                              in_time = wait_until(gave_up);
                              return 1;
                            });
                          }))
                .executor("second", stateless([&](const int&, Context& context) {
                            begun = true;
                            wait_until(acts);
                            const AtTheEnd told{gave_up};
                            return context.effect_on("account", "second", [] { return 2; });
                          }))
                .start("first")
                .start("second"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 2});
  self = &run;
  CHECK_ERRC(Errc::cancelled, run.run(1));
  CHECK(in_time);
  CHECK(how_they_ran(run) ==
        std::map<std::string, Ran>{{"first", Ran::done}, {"second", Ran::pending}});
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().outputs.size() == 2);
}
