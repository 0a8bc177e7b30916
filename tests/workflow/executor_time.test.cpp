// SPDX-License-Identifier: MIT
// Executors that are out of time: who is told, and what counts as activity.
#include "kit.hpp"
#include "support/wait_until.hpp"
#include "triage/policies/retry.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/agent_executor.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <stop_token>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

// One executor "a" with these options.
template <class Executor>
Workflow alone(Executor executor, ExecutorOptions options = {}) {
  return built(
      WorkflowBuilder("w").executor("a", std::move(executor), std::move(options)).start("a"));
}

FailurePolicy escalate_all() {
  FailurePolicy policy;
  policy.otherwise(
      Strategy("none", [](const FailureContext& f) { return RecoveryAction::escalate(f.text); }));
  return policy;
}

void check_timeout(const Result<WorkflowResult>& result, std::string_view reason) {
  CHECK_ERRC(Errc::escalated, result);
  REQUIRE(result.error().failure() != nullptr);
  CHECK(result.error().failure()->classification.type == FailureType::timeout);
  CHECK(result.error().failure()->classification.reason == reason);
}

}  // namespace

TEST_CASE("an executor that waits for its stop token does not outlive its timeout",
          "[workflow][executor_time]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  ExecutorOptions options{.timeout = seconds(30)};
  std::string reason = "deadline";
  SECTION("of an attempt") {}
  SECTION("or without a sign of life") {
    options = {.idle_timeout = seconds(30)};
    reason = "idle_timeout";
  }
  if (GENERATE(false, true)) options.policy = escalate_all();
  std::stop_token kept;
  const auto graph = alone(stateless([&](const int& n, Context& context) -> Result<int> {
                             kept = context.stop_token();
                             if (!clock->sleep_until(clock->now() + hours(1), kept)) {
                               return context.fail({.text = "given up"});
                             }
                             return n;
                           }),
                           options);
  check_timeout(WorkflowRun(graph, {.clock = clock}).run(1), reason);
  CHECK(clock->elapsed() == seconds(30));
  CHECK(kept.stop_requested());
}

TEST_CASE("an executor that shows signs of life is not told that it is idle",
          "[workflow][executor_time]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = alone(stateless([&](const int& n, Context& context) {
                             const auto stop = context.stop_token();
                             for (int i = 0; i < 10; ++i) {
                               CHECK(clock->sleep_until(clock->now() + seconds(20), stop));
                               context.record_step({.action = "work"});
                             }
                             CHECK_FALSE(clock->sleep_until(clock->now() + seconds(40), stop));
                             return n;
                           }),
                           {.idle_timeout = seconds(30)});
  check_timeout(WorkflowRun(graph, {.clock = clock}).run(1), "idle_timeout");
}

TEST_CASE("what an agent does counts as activity of its executor", "[workflow][executor_time]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::atomic<int> worked{0};
  const auto agent = [&](seconds gap, const std::function<void(Attempt&)>& sign) {
    auto work = [&, gap, sign](const int& n, Attempt& attempt) -> Result<int> {
      for (int i = 0; i < 5; ++i) {
        if (!clock->sleep_until(clock->now() + gap, attempt.stop_token())) {
          return Error(Errc::cancelled, "stopped");
        }
        sign(attempt);
        ++worked;
      }
      return n;
    };
    return TriageAgent{work, escalate_all(), {.name = "worker", .clock = clock}};
  };
  const auto step = [](Attempt& attempt) { attempt.record_step({.action = "work"}); };
  const auto usage = [](Attempt& attempt) { attempt.record_usage({.calls = 1}); };
  const auto below = [&](Attempt& attempt) {  // A step of an agent inside the agent.
    auto inner = [&](const int&, Attempt& own) -> Result<int> {
      step(own);
      return 1;
    };
    REQUIRE_OK(TriageAgent(inner, escalate_all(), {.name = "inner", .clock = clock})
                   .run(1, {.parent = &attempt}));
  };
  const auto run = [&](auto one) {
    const auto graph = alone(agent_executor(std::move(one)), {.idle_timeout = seconds(30)});
    WorkflowRunOptions options{.clock = clock};
    if (GENERATE(false, true)) options.store = memory();
    return WorkflowRun(graph, options).run(1);
  };
  SECTION("a step") { REQUIRE_OK(run(agent(seconds(20), step))); }
  SECTION("usage") { REQUIRE_OK(run(agent(seconds(20), usage))); }
  SECTION("what an agent inside of it does") { REQUIRE_OK(run(agent(seconds(20), below))); }
  SECTION("but an agent that does nothing for too long is stopped") {
    check_timeout(run(agent(seconds(31), step)), "idle_timeout");
    CHECK(worked == 0);
    CHECK(clock->elapsed() == seconds(30));
  }
}

TEST_CASE("an executor that waits for another try keeps nobody else from going on",
          "[workflow][executor_time]") {
  const std::size_t threads = GENERATE(1U, 2U);
  std::atomic<bool> done{false};
  class UntilDone final : public Clock {
   public:
    explicit UntilDone(std::atomic<bool>& done) : done_(done) {}
    TimePoint now() override { return TimePoint(Duration(now_)); }
    WallTime wall_now() override { return WallTime(); }
    bool sleep_until(TimePoint when, std::stop_token) override {
      wait_until(done_);
      now_ = when.time_since_epoch().count();
      return true;
    }

   private:
    std::atomic<bool>& done_;
    std::atomic<Duration::rep> now_{0};
  };
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 2, .delay = hours(1)}));
  std::atomic<bool> failed{false};
  std::atomic<bool> early{false};
  const auto pass = stateless([](const int& n) { return n; });
  const auto graph = built(WorkflowBuilder("w", {.schedule = Schedule::eager})
                               .executor("waits", stateless([&](const int& n) {
                                           if (!failed.exchange(true)) {
                                             throw std::runtime_error("not yet");
                                           }
                                           early = early || !done;
                                           return n;
                                         }),
                                         {.policy = policy})
                               .executor("b", pass)
                               .executor("c", pass)
                               .executor("d", stateless([&](const int& n) {
                                           done = true;
                                           return n;
                                         }))
                               .start("waits")
                               .start("b")
                               .chain({"b", "c", "d"}));
  WorkflowRun run(graph, {.threads = threads, .clock = std::make_shared<UntilDone>(done)});
  REQUIRE_OK(run.run(1));
  CHECK_FALSE(early);
}
