// SPDX-License-Identifier: MIT
// Runs with a deadline: running work ends, nothing more starts.
#include "kit.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/retry.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// For a run "w" that may take so long from now on.
WorkflowRunOptions within(std::chrono::hours time,
                          const std::shared_ptr<testing::SimulatedClock>& clock,
                          const std::shared_ptr<CheckpointStore>& store) {
  return {.run_id = "w", .store = store, .deadline = clock->now() + time, .clock = clock};
}

}  // namespace

TEST_CASE(
    "a deadline that passes lets running work finish and begins nothing more; a later one goes on",
    "[workflow][deadline]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::atomic<int> calls{0};
  const auto work = [&](Duration takes) {
    return stateless([&, takes](const int& n, Context& context) {
      ++calls;
      CHECK(context.deadline().has_value());
      clock->advance(takes);
      CHECK_FALSE(context.stop_token().stop_requested());
      return n + 1;
    });
  };
  const auto hours = [](int n) { return std::chrono::hours(n); };
  const auto graph = built(WorkflowBuilder("w", {.schedule = schedule})
                               .executor("a", work(hours(1)))
                               .executor("b", work(hours(5)), {.timeout = hours(6)})
                               .executor("c", work(hours(1)))
                               .start("a")
                               .chain({"a", "b", "c"}));
  const auto store = memory();
  int told = 0;
  const auto until = [&](TimePoint deadline) {
    return WorkflowRunOptions{.run_id = "w",
                              .store = store,
                              .deadline = deadline,
                              .clock = clock,
                              .on_event = [&](const WorkflowEvent& event) {
                                if (event.kind == WorkflowEventKind::deadline_passed) ++told;
                              }};
  };
  WorkflowRun run(graph, until(testing::SimulatedClock::start + hours(3)));
  const auto late = run.run(1);
  CHECK_ERRC(Errc::exhausted, late);
  CHECK_THAT(late.error().detail, ContainsSubstring("deadline has passed, with 1 deliver"));
  CHECK(calls == 2);  // b took its time, and its result counts.
  CHECK(told == 1);
  CHECK(how_they_ran(run) ==
        std::map<std::string, Ran>{{"a", Ran::done}, {"b", Ran::done}, {"c", Ran::skipped}});
  const auto recorded = run.events();
  REQUIRE_OK(recorded);
  CHECK(std::any_of(recorded.value().begin(), recorded.value().end(), [](const auto& event) {
    return event.kind == WorkflowEventKind::deadline_passed &&
           event.value == Json::array({Json::array({"c", 1})});
  }));
  WorkflowRun other(graph, {.run_id = "w", .store = store, .clock = clock});
  const auto stopped = other.stopped();
  REQUIRE_OK(stopped);
  REQUIRE(stopped.value().has_value());
  CHECK(stopped.value()->how == StopKind::deadline_passed);
  // The deadline is stored, and still holds.
  CHECK_ERRC(Errc::exhausted, other.resume());
  CHECK(calls == 2);

  WorkflowRun rest(graph, until(clock->now() + hours(3)));
  const auto done = rest.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 4);
  CHECK(calls == 3);
  CHECK(called(rest) == std::set<std::string>{"c"});
  CHECK_FALSE(rest.stopped().value().has_value());
}

TEST_CASE("a run whose last executor finishes after the deadline has finished",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           clock->advance(std::chrono::hours(2));
                                           return n + 1;
                                         }))
                               .start("a"));
  WorkflowRun run(graph, {.deadline = clock->now() + std::chrono::hours(1), .clock = clock});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
}

TEST_CASE("an executor that may not act any more because of the deadline has not failed",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const bool on_resource = GENERATE(false, true);
  ExecutorOptions options{.instead = [](const Error&) { return make_message(0); }};
  if (GENERATE(false, true)) options.limits = Limits{};
  int early = 0;
  int acts = 0;
  const auto work = stateless([&](const int& n, Context& context) {
    context.effect("early", [&] { ++early; });
    if (acts == 0) clock->advance(std::chrono::hours(2));
    const auto act = [&] { return ++acts + n; };
    return on_resource ? context.effect_on("account", "act", act) : context.effect("act", act);
  });
  const auto graph = built(WorkflowBuilder("w", {.schedule = schedule})
                               .executor("a", work, options)
                               .executor("b", [](const int& n) { return n + 1; })
                               .start("a")
                               .edge("a", "b"));
  const auto store = memory();
  WorkflowRun run(graph, within(std::chrono::hours(1), clock, store));
  CHECK_ERRC(Errc::exhausted, run.run(1));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::skipped}});
  REQUIRE(run.stopped().value().has_value());
  CHECK(run.stopped().value()->how == StopKind::deadline_passed);
  CHECK(acts == 0);
  const auto done = WorkflowRun(graph, within(std::chrono::hours(9), clock, store)).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 3);
  CHECK(acts == 1);
  CHECK(early == 1);
}

TEST_CASE("an executor whose own run the deadline keeps from beginning has not failed",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", [](const int& n) { return n + 1; }, {.limits = Limits{}})
                .start("a"));
  const auto store = memory();
  const auto until = [&](std::chrono::hours time) {
    WorkflowRunOptions options = within(time, clock, store);
    options.on_event = [&](const WorkflowEvent& event) {
      if (event.kind == WorkflowEventKind::executor_started) clock->advance(std::chrono::hours(2));
    };
    return options;
  };
  WorkflowRun run(graph, until(std::chrono::hours(1)));
  CHECK_ERRC(Errc::exhausted, run.run(1));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::skipped}});
  const auto done = WorkflowRun(graph, until(std::chrono::hours(9))).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
}

TEST_CASE("a run that asks somebody when its deadline has passed goes on with a later one",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = built(WorkflowBuilder("w")
                               .port<int>("n")
                               .executor("a", stateless([&](const int&, Context& context) {
                                           clock->advance(std::chrono::hours(2));
                                           return context.request<int>("n", 1);
                                         }))
                               .start("a"));
  const auto store = memory();
  WorkflowRun run(graph, within(std::chrono::hours(1), clock, store));
  CHECK_ERRC(Errc::exhausted, run.run(1));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::waits}});
  const auto pending = run.pending_requests();
  REQUIRE_OK(pending);
  REQUIRE(pending.value().size() == 1);
  REQUIRE_OK(run.answer(pending.value()[0].id, 5));
  const auto done = WorkflowRun(graph, within(std::chrono::hours(9), clock, store)).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 5);
}

TEST_CASE("an executor that is late itself has failed, whatever the deadline",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           clock->advance(std::chrono::hours(2));
                                           return context.effect("act", [&] { return n; });
                                         }),
                                         {.timeout = std::chrono::minutes(1)})
                               .start("a"));
  WorkflowRun run(graph, within(std::chrono::hours(1), clock, memory()));
  CHECK_ERRC(Errc::escalated, run.run(1));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::failed}});
}

TEST_CASE("tasks that a deadline has kept from beginning are skipped, with why",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  TaskGraph tasks("w");
  tasks
      .agent("ann",
             [&](const TaskInput&, Context&) {
               clock->advance(std::chrono::hours(1));
               return Json(1);
             })
      .task({.id = "a"})
      .task({.id = "b", .depends_on = {"a"}});
  const auto store = memory();
  WorkflowRun run(built(tasks), {.run_id = "w",
                                 .store = store,
                                 .deadline = clock->now() + std::chrono::minutes(30),
                                 .clock = clock});
  CHECK_ERRC(Errc::exhausted, run.run(nullptr));
  const auto views = tasks.tasks(run);
  REQUIRE_OK(views);
  CHECK(views.value()[0].status == TaskStatus::completed);
  CHECK(views.value()[1].status == TaskStatus::skipped);
  CHECK(views.value()[1].why == "the workflow's deadline passed");
}

TEST_CASE("the longest timeouts leave an executor all the time there is", "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  clock->advance(std::chrono::hours(1));
  const auto run_with = [&](ExecutorOptions options) {
    const auto graph = built(WorkflowBuilder("w")
                                 .executor("a", stateless([&](const int& n, Context& context) {
                                             CHECK(context.deadline() > clock->now());
                                             return n;
                                           }),
                                           std::move(options))
                                 .start("a"));
    return WorkflowRun(graph, {.clock = clock}).run(1);
  };
  REQUIRE_OK(run_with({.timeout = Duration::max()}));
  REQUIRE_OK(run_with({.idle_timeout = Duration::max()}));
}

TEST_CASE("a run that keeps its failures goes on with more supersteps, or more time",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = built(WorkflowBuilder("w", {.max_supersteps = 3})
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           clock->advance(std::chrono::hours(1));
                                           if (n == 6) return context.output(n);
                                           context.send(n + 1);
                                         }))
                               .start("a")
                               .edge("a", "a", when<int>([](int n) { return n < 10; })));
  const auto store = memory();
  const auto go = [&](std::optional<int> supersteps, std::chrono::hours time) {
    return WorkflowRun(graph, {.run_id = "w",
                               .store = store,
                               .max_supersteps = supersteps,
                               .retry_failed = false,
                               .deadline = clock->now() + time,
                               .clock = clock})
        .start_or_resume(1);
  };
  CHECK_ERRC(Errc::exhausted, go({}, std::chrono::hours(10)));
  CHECK_ERRC(Errc::exhausted, go({}, std::chrono::hours(10)));
  const auto late = go(50, std::chrono::hours(1));
  CHECK_ERRC(Errc::exhausted, late);
  CHECK_THAT(late.error().detail, ContainsSubstring("deadline"));
  const auto done = go(50, std::chrono::hours(10));
  REQUIRE_OK(done);
  CHECK(done.value().value() == 6);
}

TEST_CASE("another attempt that would come after the deadline is made with a later one",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  FailurePolicy policy;
  std::string failure = "503 Service Unavailable";
  SECTION("after the policy's wait") {
    policy.otherwise(retry({.max_attempts = 3, .delay = std::chrono::hours(2)}));
  }
  SECTION("after the wait that the other side asks for") {
    policy.otherwise(retry_with_backoff({.max_attempts = 3}));
    failure = "429 Too Many Requests; retry after 7200 seconds";
  }
  const bool retry_failed = GENERATE(true, false);
  int tries = 0;
  TaskGraph tasks("w");
  tasks
      .agent("ann",
             [&](const TaskInput&, Context& context) -> Result<Json> {
               if (++tries == 1) return context.fail({.text = failure});
               return Json(tries);
             })
      .task({.id = "a", .on_failure = OnFailure::carry_on, .policy = policy})
      .task({.id = "b", .depends_on = {"a"}});
  const auto graph = built(tasks);
  const auto store = memory();
  const auto until = [&](std::chrono::hours time) {
    WorkflowRunOptions options = within(time, clock, store);
    options.retry_failed = retry_failed;
    return options;
  };
  WorkflowRun run(graph, until(std::chrono::hours(1)));
  const auto late = run.run(nullptr);
  CHECK_ERRC(Errc::exhausted, late);
  CHECK_THAT(late.error().detail, ContainsSubstring("leaves no time for another attempt"));
  CHECK(tries == 1);
  REQUIRE(run.stopped().value().has_value());
  CHECK(run.stopped().value()->how == StopKind::deadline_passed);
  const auto views = tasks.tasks(run);
  REQUIRE_OK(views);
  CHECK(views.value()[0].status == TaskStatus::skipped);
  REQUIRE_OK(WorkflowRun(graph, until(std::chrono::hours(9))).resume());
  CHECK(tries == 3);
}

TEST_CASE("an executor without another attempt left has failed, whatever the deadline",
          "[workflow][deadline]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 1}));
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", stateless([&](const int&, Context& context) -> Result<int> {
                            clock->advance(std::chrono::hours(2));
                            return context.fail({.text = "503 Service Unavailable"});
                          }),
                          {.policy = policy})
                .start("a"));
  WorkflowRun run(graph, within(std::chrono::hours(1), clock, memory()));
  CHECK_ERRC(Errc::escalated, run.run(1));
  CHECK(how_they_ran(run) == std::map<std::string, Ran>{{"a", Ran::failed}});
}
