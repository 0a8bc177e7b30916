// SPDX-License-Identifier: MIT
// An executor's policy that rolls the whole workflow back.
#include "triage/policies/rollback.hpp"
#include "kit.hpp"

#include <atomic>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

FailurePolicy rolls_back(RollbackOptions options = {}) {
  FailurePolicy policy;
  policy.otherwise(rollback(std::move(options)));
  return policy;
}

// Events in the world, which outlives any run.
struct World {
  std::atomic<int> fetched{0};
  std::atomic<int> parsed{0};
  std::atomic<int> booked{0};
  std::atomic<int> cancelled{0};
};

// "parse" books something, "check" rejects the first `bad` results of it.
Workflow pipeline(World& world, int bad, RollbackScope scope, RollbackOptions options = {},
                  int most = 3) {
  return built(WorkflowBuilder("w", {.max_rollbacks = most})
                   .executor("fetch", stateless([&](const int& n) {
                               ++world.fetched;
                               return n;
                             }))
                   .executor("parse", stateless([&](const int&, Context& context) {
                               context.shared().set("parsed", ++world.parsed);
                               context.effect("book", [&] { ++world.booked; },
                                              {.compensate = [&world] { ++world.cancelled; }});
                               return world.parsed.load();
                             }))
                   .executor("check", stateless([bad](const int& n) -> Result<int> {
                               if (n <= bad) return Error{Errc::io, "that is not what I asked for"};
                               return n;
                             }),
                             {.policy = rolls_back(std::move(options)), .rollback = scope})
                   .start("fetch")
                   .chain({"fetch", "parse", "check"}));
}

}  // namespace

TEST_CASE("a policy may roll the whole workflow back: what finished since runs again",
          "[workflow][rollback]") {
  World world;
  WorkflowRun run(pipeline(world, 1, RollbackScope::workflow, {.back = 1}),
                  {.run_id = "w", .store = memory()});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
  CHECK(world.fetched == 1);
  CHECK(world.parsed == 2);
  CHECK(run.state().value()["s||"]["parsed"] == 2);
  const auto events = run.events();
  REQUIRE_OK(events);
  int rolled_back = 0;
  for (const WorkflowEvent& one : events.value()) {
    rolled_back += one.kind == WorkflowEventKind::run_rolled_back ? 1 : 0;
  }
  CHECK(rolled_back == 1);
}

TEST_CASE("a rollback of the workflow undoes its effects since then, and they happen anew",
          "[workflow][rollback]") {
  World world;
  WorkflowRun run(pipeline(world, 1, RollbackScope::workflow, {.back = 1}),
                  {.run_id = "w", .store = memory()});
  REQUIRE_OK(run.run(1));
  CHECK(world.booked == 2);
  CHECK(world.cancelled == 1);
}

TEST_CASE("without being asked for, a rollback stays within its executor", "[workflow][rollback]") {
  World world;
  WorkflowRun run(pipeline(world, 1, RollbackScope::executor), {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::escalated, run.run(1));
  CHECK(world.parsed == 1);
}

TEST_CASE("a workflow is rolled back so often and no more", "[workflow][rollback]") {
  World world;
  WorkflowRun run(pipeline(world, 1'000, RollbackScope::workflow, {.back = 1}, 2),
                  {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::escalated, run.run(1));
  CHECK(world.parsed == 3);
}

TEST_CASE("executors with policies of their own run again after a rollback of the workflow",
          "[workflow][rollback]") {
  std::atomic<int> drafts{0};
  FailurePolicy none;
  none.otherwise(Strategy([](const FailureContext&) { return RecoveryAction::escalate(); }));
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("topic", [](const int& n) { return n; })
          .executor("draft", stateless([&](const int&) { return ++drafts; }), {.policy = none})
          .executor("check",
                    [](const int& n) -> Result<int> {
                      if (n == 1) return Error{Errc::io, "too short"};
                      return n;
                    },
                    {.policy = rolls_back({.back = 1}), .rollback = RollbackScope::workflow})
          .start("topic")
          .chain({"topic", "draft", "check"}));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
}

TEST_CASE("an answer that was given before a rollback of the workflow is not asked for again",
          "[workflow][rollback]") {
  std::atomic<int> tries{0};
  const auto graph =
      built(WorkflowBuilder("w")
                .port<int>("n")
                .executor("topic", [](const int& n) { return n; })
                .executor("ask", [](const int&,
                                    Context& context) { return context.request<int>("n", {}); })
                .executor("check", stateless([&](const int& n) -> Result<int> {
                            if (++tries == 1) return Error{Errc::io, "not now"};
                            return n;
                          }),
                          {.policy = rolls_back({.back = 1}), .rollback = RollbackScope::workflow})
                .start("topic")
                .chain({"topic", "ask", "check"}));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("ask/1/n/1", 9));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 9);
  CHECK(tries == 2);
}

namespace {

// Asks for a number; the first time it is `bad`, everything begins again.
Workflow asking_for(const int bad) {
  const auto tries = std::make_shared<std::atomic<int>>(0);
  return built(WorkflowBuilder("w")
                   .port<int>("n")
                   .executor("topic", [](const int& n) { return n; })
                   .executor("ask", [](const int&,
                                       Context& context) { return context.request<int>("n", {}); })
                   .executor("check", stateless([bad, tries](const int& n) -> Result<int> {
                               if (n == bad && ++*tries == 1) return Error{Errc::io, "not now"};
                               return n;
                             }),
                             {.policy = rolls_back({.back = 100, .or_start = true}),
                              .rollback = RollbackScope::workflow})
                   .start("topic")
                   .chain({"topic", "ask", "check"}));
}

}  // namespace

TEST_CASE("an answer is kept by a rollback of the workflow to before its question",
          "[workflow][rollback]") {
  WorkflowRun run(asking_for(9), {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("ask/1/n/1", 9));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 9);
  CHECK(called(run).contains("topic"));
}

TEST_CASE("answers that a restore has dropped do not come back with a rollback of the workflow",
          "[workflow][rollback]") {
  WorkflowRun run(asking_for(9), {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("ask/1/n/1", 5));
  REQUIRE_OK(run.resume());
  CHECK_ERRC(Errc::suspended, run.restore(to_string(run.checkpoints().value().front().id)));
  REQUIRE_OK(run.answer("ask/1/n/1", 9));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 9);
}
