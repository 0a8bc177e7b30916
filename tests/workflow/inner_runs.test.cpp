// SPDX-License-Identifier: MIT
// Executors with policies, and agents: each delivery has a run of its own below the workflow's.
#include "driver/stored_run.hpp"
#include "kit.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/agent_executor.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

FailurePolicy tries(int attempts, Duration delay = {}) {
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = attempts, .delay = delay}));
  return policy;
}

std::string entry_of(const WorkflowRun& run) {
  return to_string(run.checkpoints().value().front().id);
}

WorkflowRunOptions within_an_hour(const std::shared_ptr<CheckpointStore>& store,
                                  const std::shared_ptr<testing::SimulatedClock>& clock) {
  return {.run_id = "w",
          .store = store,
          .deadline = clock->now() + std::chrono::hours(1),
          .clock = clock};
}

}  // namespace

TEST_CASE("after a restore, an executor with a policy takes the new answer", "[workflow][inner]") {
  const auto graph = built(
      WorkflowBuilder("w")
          .port<bool>("approve")
          .executor("pay",
                    [](const int&, Context& context) {
                      return std::string(context.request<bool>("approve", {}) ? "paid" : "kept");
                    },
                    {.policy = tries(2)})
          .start("pay"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("pay/1/approve/1", true));
  REQUIRE_OK(run.resume());
  CHECK_ERRC(Errc::suspended, run.restore(entry_of(run)));
  REQUIRE_OK(run.answer("pay/1/approve/1", false));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == "kept");
}

TEST_CASE("executors with policies, and agents, run again after a restore", "[workflow][inner]") {
  std::atomic<int> drafts{0};
  std::atomic<int> thoughts{0};
  const auto think = [&](const int& n) {
    ++thoughts;
    return n + 1;
  };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("draft", stateless([&](const int& n) {
                            ++drafts;
                            return n;
                          }),
                          {.policy = tries(2)})
                .executor("think", agent_executor(TriageAgent(think, FailurePolicy())))
                .start("draft")
                .edge("draft", "think"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  REQUIRE_OK(run.run(1));
  REQUIRE_OK(run.restore(entry_of(run)));
  CHECK(drafts == 2);
  CHECK(thoughts == 2);
  // The restored run is the one that goes on, in any process.
  REQUIRE_OK(run.resume());
  CHECK(drafts == 2);
  CHECK(thoughts == 2);
}

TEST_CASE("a later deadline holds for an executor's tries, too", "[workflow][inner]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::atomic<int> calls{0};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) -> Result<int> {
                                           ++calls;
                                           if (calls > 1) return n;
                                           clock->advance(std::chrono::hours(2));
                                           return Error{Errc::io, "not now"};
                                         }),
                                         {.policy = tries(5, std::chrono::minutes(1))})
                               .start("a"));
  const auto store = memory();
  REQUIRE_FALSE(WorkflowRun(graph, within_an_hour(store, clock)).run(1).has_value());
  CHECK(calls == 1);
  REQUIRE_OK(WorkflowRun(graph, within_an_hour(store, clock)).resume());
  CHECK(calls == 2);
}

TEST_CASE("a later deadline holds for an act on a resource, too", "[workflow][inner]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::atomic<int> acts{0};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int&, Context& context) {
                                           return context.effect_on("account", "pay", [&] {
                                             if (++acts > 1) return 1;
                                             clock->advance(std::chrono::hours(2));
                                             throw EffectNotDone("the bank is closed");
                                           });
                                         }))
                               .start("a"));
  const auto store = memory();
  REQUIRE_FALSE(WorkflowRun(graph, within_an_hour(store, clock)).run(1).has_value());
  REQUIRE_OK(WorkflowRun(graph, within_an_hour(store, clock)).resume());
  CHECK(acts == 2);
}

TEST_CASE("a new version of an executor with a policy goes on where the old one failed or waits",
          "[workflow][inner]") {
  const auto graph = [](const std::string& version, bool works, bool asks) {
    return built(WorkflowBuilder("w")
                     .port<int>("n")
                     .executor("a", stateless([=](const int& n, Context& context) -> Result<int> {
                                 const int more = asks ? context.request<int>("n", n) : 1;
                                 if (!works) return Error{Errc::io, "a mistake"};
                                 return n + more;
                               }),
                               {.version = version, .policy = tries(2)})
                     .start("a"));
  };
  const auto store = memory();
  SECTION("it has failed") {
    const WorkflowRunOptions options{.run_id = "failed", .store = store};
    CHECK_ERRC(Errc::escalated, WorkflowRun(graph("1", false, false), options).run(1));
    const auto done = WorkflowRun(graph("2", true, false), options).resume();
    REQUIRE_OK(done);
    CHECK(done.value().value() == 2);
  }
  SECTION("it waits for an answer") {
    const WorkflowRunOptions options{.run_id = "waits", .store = store};
    CHECK_ERRC(Errc::suspended, WorkflowRun(graph("1", true, true), options).run(1));
    WorkflowRun mended(graph("2", true, true), options);
    CHECK_ERRC(Errc::suspended, mended.resume());
    REQUIRE_OK(mended.answer("a/1/n/1", 5));
    const auto done = mended.resume();
    REQUIRE_OK(done);
    CHECK(done.value().value() == 6);
  }
}

namespace {

// "a" fails so often; its policy asks a person what to do.
struct Deciding {
  std::atomic<int> calls{0};
  int fails = 1;
  SuspendOptions asks{};
  std::function<Message(const Error&)> instead{};
  std::shared_ptr<CheckpointStore> store = memory();
  std::shared_ptr<testing::SimulatedClock> clock = std::make_shared<testing::SimulatedClock>();

  [[nodiscard]] WorkflowRun run(const RunId& id = "w") {
    FailurePolicy policy;
    policy.otherwise(suspend(asks));
    const auto graph = built(WorkflowBuilder("w")
                                 .executor("a", stateless([this](const int& n) -> Result<int> {
                                             if (++calls <= fails) return Error{Errc::io, "no"};
                                             return n;
                                           }),
                                           {.policy = policy, .instead = instead})
                                 .executor("b", [](const int& n) { return n + 1; })
                                 .start("a")
                                 .edge("a", "b"));
    return WorkflowRun(graph, {.run_id = id, .store = store, .clock = clock});
  }
};

constexpr const char* first_decision = "a/1/triage.decision/1";

}  // namespace

TEST_CASE("a policy that suspends makes a request, and its answer is the decision",
          "[workflow][inner]") {
  Deciding graph;
  graph.fails = 2;
  graph.asks.message = "pay again?";
  CHECK_ERRC(Errc::suspended, graph.run().run(1));
  CHECK_ERRC(Errc::suspended, graph.run().resume());
  CHECK(graph.calls == 1);
  auto run = graph.run();
  const auto pending = run.pending_requests();
  REQUIRE_OK(pending);
  REQUIRE(pending.value().size() == 1);
  CHECK(pending.value()[0].id == first_decision);
  CHECK(pending.value()[0].payload.at("message") == "pay again?");
  CHECK_ERRC(Errc::invalid_argument, run.answer(first_decision, "fallback"));
  REQUIRE_OK(run.answer(first_decision, "retry"));
  CHECK_ERRC(Errc::suspended, run.resume());  // Again.
  CHECK(graph.calls == 2);
  REQUIRE_OK(run.answer("a/1/triage.decision/2", Json{{"action", "replan"}, {"message", "ok"}}));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 2);
  CHECK(graph.calls == 3);
  CHECK(run.pending_requests().value().empty());
}

TEST_CASE("a decision to give up fails the executor, for good", "[workflow][inner]") {
  Deciding graph;
  graph.asks.allowed_actions = {"retry", "abort"};
  const bool replaces = GENERATE(false, true);
  if (replaces) graph.instead = [](const Error&) { return make_message(7); };
  auto run = graph.run();
  CHECK_ERRC(Errc::suspended, run.run(1));
  CHECK_ERRC(Errc::invalid_argument, run.answer(first_decision, "escalate"));
  REQUIRE_OK(run.answer(first_decision, Json{{"action", "abort"}, {"message", "too dear"}}));
  for (int i = 0; i < 2; ++i) {
    const auto done = run.resume();
    REQUIRE_FALSE(done.has_value());
    if (!replaces) CHECK_THAT(done.error().detail, Catch::Matchers::ContainsSubstring("too dear"));
  }
  CHECK(graph.calls == 1);
}

TEST_CASE("a decision that nobody makes in time is made by the policy", "[workflow][inner]") {
  Deciding graph;
  const auto soon = graph.clock->wall_now() + std::chrono::hours(1);
  SECTION("it goes on") {
    graph.asks.until = soon;
    CHECK_ERRC(Errc::suspended, graph.run().run(1));
    graph.clock->advance(std::chrono::hours(2));
    REQUIRE_OK(graph.run().resume());
    CHECK(graph.calls == 2);
  }
  SECTION("it fails") {
    graph.asks.expires_after = std::chrono::hours(1);
    CHECK_ERRC(Errc::suspended, graph.run().run(1));
    graph.clock->advance(std::chrono::hours(2));
    CHECK_ERRC(Errc::escalated, graph.run().resume());
    CHECK(graph.calls == 1);
    REQUIRE_OK(graph.run().resume());  // Like after other failures, it is tried again.
    CHECK(graph.calls == 2);
  }
}

TEST_CASE("a branch tries what waits for a decision itself, and asks for its own",
          "[workflow][inner]") {
  Deciding graph;
  graph.fails = 2;
  auto origin = graph.run();
  CHECK_ERRC(Errc::suspended, origin.run(1));
  const auto latest = graph.store->latest("w");
  REQUIRE_OK(latest);
  const auto from = to_string(latest.value().info.id);
  REQUIRE_OK(workflow::detail::make_branch(graph.store, "w", from, "idle", Json::object(), {}));
  CHECK(graph.run("idle").pending_requests().value().empty());
  auto branch = graph.run("branch");
  CHECK_ERRC(Errc::suspended, branch.fork(from, {}));
  CHECK(graph.calls == 2);
  REQUIRE(branch.pending_requests().value().size() == 1);
  REQUIRE_OK(branch.answer(first_decision, "retry"));
  REQUIRE_OK(branch.resume());
  REQUIRE(origin.pending_requests().value().size() == 1);
}

TEST_CASE("an agent that waits for a decision goes on below an executor's policy, too",
          "[workflow][inner]") {
  const auto store = memory();
  std::atomic<int> calls{0};
  FailurePolicy asks;
  asks.otherwise(suspend());
  const TriageAgent agent(
      [&](const int& n) -> Result<int> {
        if (++calls == 1) return Error{Errc::io, "no"};
        return n;
      },
      asks, {.name = "thinker", .store = store});
  const auto graph = built(
      WorkflowBuilder("w").executor("a", agent_executor(agent), {.policy = tries(2)}).start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  const auto waits = run.run(1);
  CHECK_ERRC(Errc::suspended, waits);
  auto inner = waits.error().suspension();
  while (inner && inner->inner) inner = inner->inner;
  REQUIRE(inner != nullptr);
  REQUIRE_OK(agent.decide(inner->token, RecoveryAction::retry()));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 1);
  CHECK(calls == 2);
}

namespace {

// Adds up in a member; a delivery of 3 fails as often as told, or asks.
struct Remembering {
  std::shared_ptr<std::atomic<int>> failing = std::make_shared<std::atomic<int>>(0);
  bool asks = false;
  int sum = 0;

  int operator()(const int& n, Context& context) {
    sum += n;
    if (n == 3 && (*failing)-- > 0) throw std::runtime_error("tired");
    if (n == 3 && asks && !context.request<bool>("ok", n)) return 0;
    return sum;
  }
  [[nodiscard]] Json save() const { return sum; }
  Result<void> restore(const Json& saved) {
    sum = saved.get<int>();
    return outcome::success();
  }
};

// Sends 1, 2 and 3 to "sum", each of them in a superstep of its own.
Workflow remembered_sums(const Remembering& sum, const ExecutorOptions& options) {
  return built(WorkflowBuilder("w")
                   .port<bool>("ok")
                   .executor("feed",
                             [](const int& n, Context& context) {
                               context.send_to("sum", n);
                               if (n < 3) context.send_to("feed", n + 1);
                             })
                   .executor("sum", sum, options)
                   .start("feed")
                   .fan_out("feed", {"sum", "feed"}));
}

}  // namespace

TEST_CASE("an executor without checkpoints knows in another attempt what it knew before",
          "[workflow][inner]") {
  Remembering sum;
  *sum.failing = 2;
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 3, .delay = Duration::zero()}));
  ExecutorOptions options{.policy = policy, .checkpoints = CheckpointChoice::off()};
  WorkflowRunOptions how{.run_id = "w"};
  if (GENERATE(false, true)) how.store = memory();
  WorkflowRun run(remembered_sums(sum, options), how);
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 6);
  if (!how.store) return;
  CHECK_THAT(run.state().value().dump(), !ContainsSubstring("saved"));
}

TEST_CASE("what an executor without checkpoints knows is stored nowhere", "[workflow][inner]") {
  const auto store = memory();
  const ExecutorOptions options{.checkpoints = CheckpointChoice::off()};
  Remembering sum;
  sum.asks = true;
  WorkflowRun run(remembered_sums(sum, options), {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("sum/3/ok/1", true));
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 3);  // Going on, it begins anew.
}

TEST_CASE("limits of an executor count anew once it has an answer", "[workflow][inner]") {
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 10, .delay = Duration::zero()}));
  const auto graph = built(WorkflowBuilder("w")
                               .port<bool>("ok")
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           const int call = ++calls;
                                           if (call == 1) throw std::runtime_error("not yet");
                                           if (context.request<bool>("ok", n))
                                             throw std::runtime_error("never");
                                           return n;
                                         }),
                                         {.policy = policy, .limits = Limits{.max_attempts = 3}})
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  CHECK(calls == 2);
  REQUIRE_OK(run.answer("a/1/ok/1", true));
  CHECK_ERRC(Errc::escalated, run.resume());
  CHECK(calls == 5);
}
