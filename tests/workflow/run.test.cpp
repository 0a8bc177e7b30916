// SPDX-License-Identifier: MIT
#include "kit.hpp"

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

const auto add_one = [](const int& n) { return n + 1; };
const auto twice = [](const int& n) { return 2 * n; };

std::shared_ptr<CheckpointStore> memory_store() { return std::make_shared<MemoryStore>(); }

// start → left, right → join.
Workflow diamond(const std::function<int(const int&)>& left, Schedule schedule) {
  return built(
      WorkflowBuilder("diamond", {.schedule = schedule})
          .executor("start", add_one)
          .executor("left", stateless(left))
          .executor("right", twice)
          .executor("join", [](const std::vector<int>& both) { return both.at(0) + both.at(1); })
          .start("start")
          .fan_out("start", {"left", "right"})
          .fan_in({"left", "right"}, "join"));
}

}  // namespace

TEST_CASE("messages travel along edges and the last executor's value is the output",
          "[workflow][run]") {
  const Workflow chain = built(WorkflowBuilder("chain")
                                   .executor("a", add_one)
                                   .executor("b", twice)
                                   .start("a")
                                   .edge("a", "b"));
  const auto result = WorkflowRun(chain).run(20);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 1);
  CHECK(result.value().outputs[0].executor == "b");
  CHECK(result.value().value() == 42);
}

TEST_CASE("a fan-in delivers what its sources sent in their order, on any number of threads",
          "[workflow][run]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const std::size_t threads = GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{8});
  const auto result =
      WorkflowRun(diamond([](const int& n) { return n - 100; }, schedule), {.threads = threads})
          .run(4);
  REQUIRE_OK(result);
  CHECK(result.value().value() == -85);
}

TEST_CASE("a condition holds a message back and a choice sends it one way", "[workflow][run]") {
  const auto graph =
      built(WorkflowBuilder("choice")
                .executor("start", [](const int& n) { return n; })
                .executor("big", [](const int&) { return std::string("big"); })
                .executor("small", [](const int&) { return std::string("small"); })
                .executor("even", [](const int&) { return std::string("even"); })
                .start("start")
                .choice("start", {{when<int>([](int n) { return n > 9; }), "big"}}, "small")
                .edge("start", "even", when<int>([](int n) { return n % 2 == 0; })));
  const auto values = [&](int n) {
    std::vector<std::string> texts;
    const auto result = WorkflowRun(graph).run(n);
    REQUIRE_OK(result);
    for (const Output& one : result.value().outputs) {
      texts.push_back(one.value.get<std::string>());
    }
    return texts;
  };
  CHECK(values(10) == std::vector<std::string>{"big", "even"});
  CHECK(values(11) == std::vector<std::string>{"big"});
  CHECK(values(4) == std::vector<std::string>{"small", "even"});
}

TEST_CASE("a loop goes on until its condition ends it", "[workflow][run]") {
  const auto loop = built(WorkflowBuilder("loop")
                              .executor("count",
                                        [](const int& n, Context& context) {
                                          if (n == 5) {
                                            context.output(context.occurrence());
                                          } else {
                                            context.send(n + 1);
                                          }
                                        })
                              .start("count")
                              .edge("count", "count", [](const Message&) { return true; }));
  const auto result = WorkflowRun(loop).run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 5);
}

TEST_CASE("a loop that does not end stops at its limit, and goes on with a higher one",
          "[workflow][run]") {
  const auto store = memory_store();
  const auto loop = built(WorkflowBuilder("loop", {.max_supersteps = 10})
                              .executor("count",
                                        [](const int& n, Context& context) {
                                          if (n == 15) {
                                            context.output(n);
                                          } else {
                                            context.send(n + 1);
                                          }
                                        })
                              .start("count")
                              .edge("count", "count", [](const Message&) { return true; }));
  WorkflowRun first(loop, {.run_id = "loop", .store = store});
  CHECK_ERRC(Errc::exhausted, first.start_or_resume(1));
  CHECK(first.handler_calls() == 10);
  WorkflowRun second(loop, {.run_id = "loop", .store = store, .max_supersteps = 20});
  const auto result = second.start_or_resume(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 15);
  CHECK(second.handler_calls() == 5);
}

TEST_CASE("a failing executor ends the run; resuming it repeats nothing that has finished",
          "[workflow][run]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  std::atomic<int> calls{0};
  std::atomic<bool> works{false};
  const auto graph = diamond(
      [&](const int& n) {
        ++calls;
        if (!works) throw std::runtime_error("the model is down");
        return n;
      },
      schedule);
  const auto store = memory_store();
  WorkflowRun first(graph, {.run_id = "w", .store = store, .threads = 1});
  const auto failed = first.start_or_resume(1);
  CHECK_ERRC(Errc::escalated, failed);
  CHECK_THAT(failed.error().detail, ContainsSubstring("the model is down"));
  works = true;
  WorkflowRun second(graph, {.run_id = "w", .store = store, .threads = 1});
  const auto result = second.start_or_resume(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);
  CHECK(calls == 2);
  CHECK(first.handler_calls() + second.handler_calls() == 5);
}

TEST_CASE("a finished run gives its recorded outputs without a single call", "[workflow][run]") {
  const auto store = memory_store();
  const auto graph = diamond([](const int& n) { return n; }, Schedule::supersteps);
  REQUIRE_OK(start_or_resume(graph, "w", 1, store));
  WorkflowRun again(graph, {.run_id = "w", .store = store});
  const auto result = again.start_or_resume(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 6);
  CHECK(result.value().outputs[0].executor == "join");
  CHECK(again.handler_calls() == 0);
}

TEST_CASE("other inputs than the stored ones are a conflict that names the path",
          "[workflow][run]") {
  const auto store = memory_store();
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const Json& json) { return json; }).start("a"));
  REQUIRE_OK(start_or_resume(graph, "w", {{"topic", {{"name", "x"}}}}, store));
  const auto other = start_or_resume(graph, "w", {{"topic", {{"name", "y"}}}}, store);
  CHECK_ERRC(Errc::conflict, other);
  CHECK_THAT(other.error().detail, ContainsSubstring("/topic/name"));
}

TEST_CASE("a run of a changed workflow is refused with the parts that differ", "[workflow][run]") {
  const auto store = memory_store();
  const auto version = [](const std::string& number) {
    return built(WorkflowBuilder("w").executor("a", add_one, {.version = number}).start("a"));
  };
  REQUIRE_OK(start_or_resume(version("1"), "w", 1, store));
  const auto changed = start_or_resume(version("2"), "w", 1, store);
  CHECK_ERRC(Errc::conflict, changed);
  CHECK_THAT(changed.error().detail, ContainsSubstring("executor a (version 1, now 2)"));
}

TEST_CASE("resuming a run that nobody has started is not found", "[workflow][run]") {
  const auto graph = diamond([](const int& n) { return n; }, Schedule::supersteps);
  CHECK_ERRC(Errc::not_found,
             WorkflowRun(graph, {.run_id = "w", .store = memory_store()}).resume());
}

TEST_CASE("a message that no handler takes is an error that names it", "[workflow][run]") {
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", [](const int&) { return std::string("text"); })
                               .executor("b", twice)
                               .start("a")
                               .edge("a", "b"));
  const auto result = WorkflowRun(graph).run(1);
  CHECK_ERRC(Errc::invalid_argument, result);
  for (const char* part : {"\"b\"", "\"string\"", "integer"}) {
    CHECK_THAT(result.error().detail, ContainsSubstring(part));
  }
}

TEST_CASE("a fan-out to very many executors is stored in little room", "[workflow][run]") {
  WorkflowBuilder builder("wide");
  std::vector<std::string> names;
  builder.executor("start", [](const int& n) { return n; }).start("start");
  for (int i = 0; i < 500; ++i) {
    names.push_back("n" + std::to_string(i));
    builder.executor(names.back(), add_one);
  }
  builder.executor("join", [](const std::vector<int>& all) { return all.size(); });
  const auto graph = built(builder.fan_out("start", names).fan_in(names, "join"));
  const auto store = memory_store();
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = store}).run(1));
  const auto state = store->latest("w");
  REQUIRE_OK(state);
  CHECK(show(*state.value().state.find("triage/done/start/1")).size() < 4000);
  WorkflowRun again(graph, {.run_id = "w", .store = store});
  const auto result = again.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 500);
}

TEST_CASE("a nested workflow's outputs travel on as its messages", "[workflow][run]") {
  const auto inner = built(WorkflowBuilder("inner")
                               .executor("a", add_one)
                               .executor("b", twice)
                               .start("a")
                               .edge("a", "b"));
  const auto outer = built(WorkflowBuilder("outer")
                               .executor("first", twice)
                               .executor("inner", inner)
                               .executor("last", add_one)
                               .start("first")
                               .chain({"first", "inner", "last"}));
  const auto result = WorkflowRun(outer).run(10);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 43);
}

TEST_CASE("an executor's own policy tries its delivery again", "[workflow][run]") {
  std::atomic<int> calls{0};
  FailurePolicy policy;
  policy.otherwise([](const FailureContext& failure) {
    return failure.attempt_number < 3 ? RecoveryAction::retry() : RecoveryAction::escalate();
  });
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("a", stateless([&calls](const int& n, Context& context) -> Result<int> {
                            if (++calls < 3) {
                              return context.fail({.text = "busy", .http_status = 503});
                            }
                            return n;
                          }),
                          {.policy = policy})
                .start("a"));
  const auto store = GENERATE(false, true) ? memory_store() : nullptr;
  const auto result = WorkflowRun(graph, {.store = store}).run(7);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 7);
  CHECK(calls == 3);
}

TEST_CASE("an effect of an executor is done once, however often the executor is called",
          "[workflow][run]") {
  const auto store = memory_store();
  std::atomic<int> charged{0};
  std::atomic<bool> works{false};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("pay", stateless([&](const int& n, Context& context) {
                                           const int receipt =
                                               context.effect("charge", [&] { return ++charged; });
                                           if (!works) throw std::runtime_error("lost");
                                           return n + receipt;
                                         }))
                               .start("pay"));
  CHECK_ERRC(Errc::escalated, start_or_resume(graph, "w", 1, store));
  works = true;
  const auto result = start_or_resume(graph, "w", 1, store);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 2);
  CHECK(charged == 1);
}

TEST_CASE("an eager workflow loops through a fan-in that takes what comes", "[workflow][run]") {
  const auto graph =
      built(WorkflowBuilder("loop", {.schedule = Schedule::eager})
                .executor("start", [](const int& n) { return n; })
                .executor("work", [](const std::vector<int>& one) { return one.at(0) + 1; })
                .executor("again", [](const int& n) { return n; })
                .executor("end", [](const int& n) { return n; })
                .start("start")
                .fan_in({"start", "again"}, "work", Join::any())
                .edge("work", "again", when<int>([](int n) { return n < 5; }))
                .edge("work", "end", when<int>([](int n) { return n >= 5; })));
  const auto result = WorkflowRun(graph).run(1);
  REQUIRE_OK(result);
  CHECK(result.value().outputs.size() == 1);
  CHECK(result.value().value() == 5);
}

TEST_CASE("an eager fan-in takes the shorter way first, and waits for nobody who cannot be earlier",
          "[workflow][run]") {
  // "far" has the longer way and cannot be earlier: "join" has received its first list by then.
  std::atomic<int> lists{0};
  std::atomic<int> when_far_ran{-1};
  const auto graph =
      built(WorkflowBuilder("race", {.schedule = Schedule::eager})
                .executor("start", [](const int& n) { return n; })
                .executor("near", [](const int&) { return std::string("near"); })
                .executor("far", [](const int& n) { return n; })
                .executor("farther", stateless([&](const int&) {
                            for (int i = 0; lists == 0 && i < 100'000'000; ++i)
                              std::this_thread::yield();
                            when_far_ran = lists.load();
                            return std::string("far");
                          }))
                .executor("join", stateless([&](const std::vector<std::string>& one) {
                            ++lists;
                            return one.at(0);
                          }))
                .start("start")
                .fan_out("start", {"near", "far"})
                .edge("far", "farther")
                .fan_in({"farther", "near"}, "join", Join::any()));
  WorkflowRun run(graph, {.threads = 2});
  const auto result = run.run(1);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 2);
  CHECK(result.value().outputs[0].value == "near");
  CHECK(result.value().outputs[1].value == "far");
  CHECK(when_far_ran == 1);
}

TEST_CASE("a run's limit of supersteps is checked before anything runs", "[workflow][run]") {
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n; }).start("a"));
  for (const int most : {0, -1, 1'000'001}) {
    WorkflowRun run(graph, {.max_supersteps = most});
    const auto refused = run.run(1);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail,
               ContainsSubstring("max_supersteps is " + std::to_string(most)));
    CHECK(run.handler_calls() == 0);
  }
}

TEST_CASE("an exception is told with the name of the executor that threw it, and is evidence",
          "[workflow][run]") {
  const auto failed_by = [](std::function<void()> act) {
    const auto graph = built(WorkflowBuilder("w")
                                 .executor("planner", stateless([&](const int& n) {
                                             act();
                                             return n;
                                           }))
                                 .start("planner"));
    auto done = WorkflowRun(graph, {}).run(1);
    CHECK_ERRC(Errc::escalated, done);
    REQUIRE(done.error().failure() != nullptr);
    return std::move(done).error();
  };
  const auto starts = [](const std::string& text) {
    return Catch::Matchers::StartsWith("executor \"planner\": " + text);
  };
  const Error boom = failed_by([] { throw std::runtime_error("boom"); });
  CHECK_THAT(boom.detail, starts("boom"));
  CHECK(boom.failure()->exception_type == "std::runtime_error");
  const Error number = failed_by([] { throw 7; });
  CHECK_THAT(number.detail, starts("an exception that is not"));
  CHECK(number.failure()->exception_type == "int");
  const Error bad = failed_by([] {
    static_cast<void>(Result<int>(Error{Errc::not_found, "no plan"}).value());
  });
  CHECK_THAT(bad.detail, starts("no plan"));
  const Error refused = failed_by([] {
    throw std::system_error(std::make_error_code(std::errc::connection_refused), "connect");
  });
  CHECK_THAT(refused.detail, starts("connect"));
  CHECK(refused.failure()->type() == FailureType::external_fault);
}
