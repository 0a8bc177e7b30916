// SPDX-License-Identifier: MIT
// Effects of executors: when none may begin, and what may not happen inside one.
#include "kit.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <atomic>
#include <chrono>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;
using std::chrono::seconds;

namespace {

// One executor "a" with these options, which may ask at "ok".
template <class Executor>
Workflow lone_asker(Executor executor, ExecutorOptions options = {}) {
  return built(WorkflowBuilder("w")
                   .port<bool>("ok")
                   .executor("a", std::move(executor), std::move(options))
                   .start("a"));
}

}  // namespace

TEST_CASE("no effect begins when an executor, or the run, is out of time", "[workflow][effects]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const bool of_run = GENERATE(false, true);
  const bool on_resource = GENERATE(false, true);
  std::atomic<int> acted{0};
  ExecutorOptions options;
  if (!of_run) options.timeout = seconds(30);
  if (GENERATE(false, true)) options.limits = Limits{.max_attempts = 1};
  const auto act = [&](Context& context, const char* key) {
    const auto once = [&] { return ++acted; };
    return on_resource ? context.effect_on("account", key, once) : context.effect(key, once);
  };
  const auto graph = lone_asker(stateless([&](const int& n, Context& context) {
                                  act(context, "in time");
                                  clock->advance(seconds(60));
                                  CHECK(act(context, "in time") == 1);
                                  act(context, "late");
                                  return n;
                                }),
                                options);
  WorkflowRunOptions how{.run_id = "w", .store = memory(), .clock = clock};
  if (of_run) how.deadline = clock->now() + seconds(30);
  const auto late = WorkflowRun(graph, how).run(1);
  CHECK_FALSE(late.has_value());
  CHECK(acted == 1);
}

TEST_CASE("a request inside an effect is refused, and names both", "[workflow][effects]") {
  const bool on_resource = GENERATE(false, true);
  const bool tries = GENERATE(false, true);
  ExecutorOptions options;
  if (GENERATE(false, true)) options.limits = Limits{.max_attempts = 1};
  std::atomic<int> begun{0};
  const auto graph = lone_asker(stateless([&](const int& n, Context& context) {
                                  const auto ask = [&] {
                                    ++begun;
                                    if (!tries) return context.request<bool>("ok", n);
                                    return context.try_request<bool>("ok", n, {}).value_or(false);
                                  };
                                  if (on_resource) return context.effect_on("account", "pay", ask);
                                  return context.effect("pay", ask);
                                }),
                                options);
  const auto store = memory();
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  const auto refused = run.run(1);
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().detail, ContainsSubstring("effect \"pay\""));
  CHECK_THAT(refused.error().detail, ContainsSubstring("port \"ok\""));
  CHECK(run.pending_requests().value().empty());
  CHECK(begun == 1);
}

TEST_CASE("after an effect, and outside of one, an executor may ask", "[workflow][effects]") {
  const auto graph = lone_asker(stateless([](const int& n, Context& context) {
    context.effect("first", [] { return 1; });
    try {
      context.effect("second", []() -> int { throw EffectNotDone("no"); });
    } catch (const EffectNotDone&) {}
    return context.request<bool>("ok", n);
  }));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("a/1/ok/1", true));
  REQUIRE_OK(run.resume());
}
