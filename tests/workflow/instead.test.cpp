// SPDX-License-Identifier: MIT
// What is sent instead of an executor's failed result: by its options, or by a FALLBACK.
#include "kit.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/rollback.hpp"

#include <atomic>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

Result<int> down(const int&) { return Error{Errc::io, "down"}; }
int same(const int& n) { return n; }

ExecutorOptions minus_one() {
  return {.instead = [](const Error&) { return make_message(-1); }, .instead_is_failure = false};
}

Workflow failing_last(ExecutorOptions options) {
  return built(WorkflowBuilder("inner").executor("a", down, std::move(options)).start("a"));
}

}  // namespace

TEST_CASE("what the last executor of a nested workflow sends instead goes where its output goes",
          "[workflow][instead]") {
  const auto store = memory();
  WorkflowRun run(built(WorkflowBuilder("w")
                            .executor("in", failing_last(minus_one()))
                            .executor("z", same)
                            .start("in")
                            .edge("in", "z")),
                  {.run_id = "w", .store = store});
  for (int i = 0; i < 2; ++i) {
    const auto done = run.start_or_resume(1);
    REQUIRE_OK(done);
    CHECK(done.value().value() == -1);
  }
}

TEST_CASE("what the last executor sends instead is an output", "[workflow][instead]") {
  WorkflowRun run(failing_last(minus_one()), {.run_id = "w", .store = memory()});
  for (int i = 0; i < 2; ++i) {
    const auto done = run.start_or_resume(1);
    REQUIRE_OK(done);
    REQUIRE(done.value().outputs.size() == 1);
    CHECK(done.value().value() == -1);
  }
}

TEST_CASE("what is sent instead waits until the workflow has rolled back as often as it may",
          "[workflow][instead]") {
  const int good = GENERATE(2, 100);
  std::atomic<int> made{0};
  ExecutorOptions checks = minus_one();
  checks.policy.emplace().otherwise(rollback({.back = 1, .or_start = true}));
  checks.rollback = RollbackScope::workflow;
  WorkflowRun run(built(WorkflowBuilder("w", {.max_rollbacks = 2})
                            .executor("make", stateless([&made](const int&) { return ++made; }))
                            .executor("check", stateless([good](const int& n) -> Result<int> {
                                        if (n < good) return Error{Errc::io, "bad"};
                                        return n;
                                      }),
                                      checks)
                            .executor("z", same)
                            .start("make")
                            .chain({"make", "check", "z"})),
                  {.run_id = "w", .store = memory()});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == (good == 2 ? 2 : -1));
  CHECK(made == (good == 2 ? 2 : 3));
}

TEST_CASE("the fallback of an executor's policy is sent on", "[workflow][instead]") {
  ExecutorOptions falls_back;
  falls_back.policy.emplace().otherwise(fallback(7));
  std::atomic<int> seen{0};
  WorkflowRun run(built(WorkflowBuilder("w")
                            .executor("a", down, falls_back)
                            .executor("z", stateless([&seen](const int& n) {
                                        ++seen;
                                        return n;
                                      }))
                            .start("a")
                            .edge("a", "z")),
                  {.run_id = "w", .store = GENERATE(memory(), nullptr)});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == 7);
  CHECK(seen == 1);
}

TEST_CASE("an executor makes its message of a fallback's value, and may write state",
          "[workflow][instead]") {
  ExecutorOptions falls_back;
  falls_back.policy.emplace().otherwise(fallback(7));
  const std::string wrong = GENERATE("", "throws", "asks");
  falls_back.fallback = [wrong](const Json& value, const Message& got, Context& context) {
    if (wrong == "throws") throw std::runtime_error("no way");
    if (wrong == "asks") static_cast<void>(context.request<int>("n", 1));
    context.shared("all").set("value", value);
    return make_message(value.get<int>() * 10 + got.json().get<int>());
  };
  WorkflowRun run(built(WorkflowBuilder("w")
                            .port<int>("n")
                            .executor("a", down, falls_back)
                            .executor("z",
                                      [](const int& n, Context& context) {
                                        return n + context.shared("all").value("value", 0);
                                      })
                            .start("a")
                            .edge("a", "z")),
                  {.run_id = "w", .store = memory()});
  const auto done = run.run(1);
  if (wrong.empty()) {
    REQUIRE_OK(done);
    CHECK(done.value().value() == 78);
  } else {
    CHECK_ERRC(Errc::escalated, done);
    CHECK_THAT(done.error().detail,
               Catch::Matchers::ContainsSubstring(wrong == "asks" ? "asks somebody" : "no way"));
  }
}

TEST_CASE("a fallback that is found again is sent on, too", "[workflow][instead]") {
  ExecutorOptions falls_back;
  falls_back.policy.emplace().otherwise(fallback(Json{{"pages", Json::array()}}));
  std::atomic<bool> broken{true};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", down, falls_back)
                               .executor("z", stateless([&](const Json& json) -> Result<Json> {
                                           if (broken) return Error{Errc::io, "down"};
                                           return json;
                                         }))
                               .start("a")
                               .edge("a", "z"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::io, run.run(1));
  broken = false;
  const auto done = run.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == Json{{"pages", Json::array()}});
}

TEST_CASE("what was made of what was sent instead is made anew, whatever interrupts the retry",
          "[workflow][instead]") {
  std::atomic<bool> broken{true};
  std::stop_source stop;
  const auto one_or_none = [&](const int& n) -> Result<int> {
    if (broken) return Error{Errc::io, "down"};
    stop.request_stop();
    return n;
  };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", stateless(one_or_none),
                          {.instead = [](const Error&) { return make_message(-1); }})
                .executor("b",
                          [](const int& n, Context& context) {
                            context.shared().set("got", n);
                            return n;
                          })
                .executor("c", [](const int&,
                                  Context& context) { return context.shared().value("got", 0); })
                .start("a")
                .chain({"a", "b", "c"}));
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = store}).run(1));
  broken = false;
  WorkflowRunOptions interrupted{.run_id = "w", .store = store};
  interrupted.stop_token = stop.get_token();
  CHECK_ERRC(Errc::cancelled, WorkflowRun(graph, interrupted).resume());
  const auto done = WorkflowRun(graph, {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 1);
}

TEST_CASE("what an executor made of an outdated value does not come back when it fails later",
          "[workflow][instead]") {
  int round = 0;
  ExecutorOptions options{.limits = Limits{}};  // So each delivery has its own run.
  options.instead = [](const Error&) { return make_message(-1); };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("twice",
                          [](const int& n, Context& context) {
                            context.send(n);
                            context.send(n + 1);
                          })
                .executor("sum", stateless([&](const int& n, Context& context) -> Result<void> {
                            // First one fails, then the other.
                            if (round + 1 == context.occurrence()) return Error{Errc::io, "down"};
                            const int sum = context.state().value("sum", 0) + n;
                            context.state().set("sum", sum);
                            context.output(sum);
                            return outcome::success();
                          }),
                          options)
                .start("twice")
                .edge("twice", "sum"));
  const auto store = memory();
  const auto go_on = [&] {
    return WorkflowRun(graph, {.run_id = "w", .store = store}).start_or_resume(1);
  };
  CHECK_ERRC(Errc::escalated, go_on());
  round = 1;
  CHECK_ERRC(Errc::escalated, go_on());
  round = 2;
  const auto done = go_on();
  REQUIRE_OK(done);
  CHECK(done.value().value() == 3);
}
