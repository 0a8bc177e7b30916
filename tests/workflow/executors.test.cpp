// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/workflow/agent_executor.hpp"
#include "triage/workflow/roundtrip.hpp"

#include <atomic>
#include <limits>
#include <mutex>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Counts in a member; its hook fails when told to.
struct MoodyExecutor {
  std::atomic<int>* broken = nullptr;  // 1: save() throws; 2: it gives NaN.
  std::atomic<bool>* works = nullptr;
  int at = 0;  // The only count at which the hook fails; 0: any.
  int count = 0;

  int operator()(const int& n) {
    if (n == 3 && works != nullptr && !*works) throw std::runtime_error("tired");
    return count += n;
  }
  [[nodiscard]] Json save() const {
    const int how = broken == nullptr || (at != 0 && at != count) ? 0 : broken->load();
    if (how == 1) throw std::runtime_error("no pen");
    if (how == 2) return std::numeric_limits<double>::quiet_NaN();
    return count;
  }
  Result<void> restore(const Json& saved) {
    count = saved.get<int>();
    return outcome::success();
  }
  friend bool operator==(const MoodyExecutor& a, const MoodyExecutor& b) {
    return a.count == b.count;
  }
};

struct Forgetful {
  int kept = 0;
  int lost = 0;
  int operator()(const int& n) { return kept = lost = n; }
  [[nodiscard]] Json save() const { return kept; }
  Result<void> restore(const Json& saved) {
    kept = saved.get<int>();
    return outcome::success();
  }
  friend bool operator==(const Forgetful&, const Forgetful&) = default;
};

// 1, 2, 3 to one executor with the hooks.
Workflow counting_executor(MoodyExecutor moody) {
  return built(WorkflowBuilder("w")
                   .executor("feed",
                             [](const int& n, Context& context) {
                               context.send_to("count", n);
                               if (n < 3) context.send_to("feed", n + 1);
                             })
                   .executor("count", moody)
                   .start("feed")
                   .fan_out("feed", {"count", "feed"}));
}

}  // namespace

TEST_CASE("a hook that fails costs the checkpoint, with an event, and not the delivery",
          "[workflow][executors]") {
  const int how = GENERATE(1, 2);
  std::atomic<int> broken{how};
  const MoodyExecutor moody{.broken = &broken, .at = 3};
  std::mutex mutex;
  std::vector<WorkflowEvent> failed;
  const auto watch = [&](const WorkflowEvent& event) {
    const std::scoped_lock lock(mutex);
    if (event.kind == WorkflowEventKind::checkpoint_save_failed) failed.push_back(event);
  };
  const auto store = memory();
  WorkflowRun run(counting_executor(moody),
                  {.run_id = "w", .store = store, .threads = 1, .on_event = watch});
  const auto result = run.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].executor == "count");
  CHECK(failed[0].occurrence == 2);
  CHECK_THAT(failed[0].error->detail, ContainsSubstring(how == 1 ? "no pen" : "save()"));
  // In the end all of it is stored.
  CHECK(WorkflowRun(counting_executor(moody), {.run_id = "w", .store = store})
            .resume()
            .value()
            .value() == 6);
}

TEST_CASE("what a hook has not saved is not taken for done", "[workflow][executors]") {
  std::atomic<int> broken{0};
  std::atomic<bool> works{true};
  const MoodyExecutor moody{.broken = &broken, .works = &works};
  const auto store = memory();
  broken = 1;
  works = false;
  CHECK_FALSE(
      WorkflowRun(counting_executor(moody), {.run_id = "w", .store = store}).run(1).has_value());
  broken = 0;
  works = true;
  WorkflowRun again(counting_executor(moody), {.run_id = "w", .store = store});
  const auto result = again.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);  // Counted from the start, because nothing was saved.
}

TEST_CASE("an executor that does nothing for too long has failed, however long it may take in all",
          "[workflow][executors]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto with = [&](Duration gap, Duration total) {
    const auto graph =
        built(WorkflowBuilder("w", {.defaults = {.idle_timeout = std::chrono::seconds(10)}})
                  .executor("a", stateless([=](const int& n, Context& context) {
                              for (Duration at{0}; at < total; at += gap) {
                                clock->advance(gap);
                                context.record_step({.action = "work"});
                              }
                              return n;
                            }))
                  .start("a"));
    return WorkflowRun(graph, {.clock = clock}).run(1);
  };
  REQUIRE_OK(with(std::chrono::seconds(9), std::chrono::seconds(90)));
  const auto idle = with(std::chrono::seconds(11), std::chrono::seconds(22));
  CHECK_ERRC(Errc::escalated, idle);
  REQUIRE(idle.error().failure() != nullptr);
  CHECK(idle.error().failure()->classification.type == FailureType::timeout);
  CHECK(idle.error().failure()->classification.reason == "idle_timeout");
}

TEST_CASE("limits of an executor hold for its attempts together", "[workflow][executors]") {
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise(
      Strategy("again", [](const FailureContext&) { return RecoveryAction::retry(); }));
  const auto graph = built(WorkflowBuilder("w", {.defaults = {.policy = policy}})
                               .executor("a", stateless([&](const int&) -> int {
                                           ++calls;
                                           throw std::runtime_error("no");
                                         }),
                                         {.limits = Limits{.max_attempts = 3}})
                               .start("a"));
  CHECK_FALSE(WorkflowRun(graph).run(1).has_value());
  CHECK(calls == 3);
}

TEST_CASE("an agent is an executor, and its cut-off run goes on where it was",
          "[workflow][executors]") {
  std::atomic<int> fetched{0};
  std::atomic<bool> works{false};
  const auto make = [&] {
    FailurePolicy policy;
    policy.otherwise(
        Strategy("none", [](const FailureContext& f) { return RecoveryAction::escalate(f.text); }));
    auto work = [&](const std::string& task, Attempt& attempt) -> Result<std::string> {
      const int pages = attempt.effect("fetch", [&] { return ++fetched; });
      if (!works) return attempt.fail({.text = "no"});
      return task + std::to_string(pages);
    };
    return TriageAgent{work, policy, {.name = "fetcher"}};
  };
  const auto graph = [&] {
    return built(WorkflowBuilder("w")
                     .executor("fetch", agent_executor(make()))
                     .executor("shout", [](const std::string& text) { return text + "!"; })
                     .start("fetch")
                     .edge("fetch", "shout"));
  };
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph(), {.run_id = "w", .store = store}).run("tea"));
  works = true;
  const auto result = WorkflowRun(graph(), {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == "tea1!");
  CHECK(fetched == 1);
  const auto plain = WorkflowRun(graph()).run("cup");
  REQUIRE_OK(plain);
  CHECK(plain.value().value() == "cup2!");
}

TEST_CASE("a test finds an executor whose hooks forget something", "[workflow][executors]") {
  MoodyExecutor counter;
  counter(4);
  REQUIRE_OK(testing::check_roundtrip(counter));
  Forgetful forgetful;
  forgetful(4);
  CHECK_ERRC(Errc::conflict, testing::check_roundtrip(forgetful));
  std::atomic<int> broken{1};
  CHECK_ERRC(Errc::conflict, testing::check_roundtrip(MoodyExecutor{.broken = &broken}));
  broken = 2;
  CHECK_ERRC(Errc::invalid_argument, testing::check_roundtrip(MoodyExecutor{.broken = &broken}));
}
