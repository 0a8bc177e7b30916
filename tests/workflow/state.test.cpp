// SPDX-License-Identifier: MIT
#include "kit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Counts in a member saved by its hooks.
struct Counter {
  std::atomic<int>* restored = nullptr;
  std::atomic<bool>* works = nullptr;
  int count = 0;

  int operator()(const int& n, Context& context) {
    count += n;
    if (context.occurrence() == 3 && works != nullptr && !*works) throw std::runtime_error("tired");
    return count;
  }
  [[nodiscard]] Json save() const { return {{"count", count}}; }
  Result<void> restore(const Json& saved) {
    if (restored != nullptr) ++*restored;
    count = saved.at("count").get<int>();
    return outcome::success();
  }
};
// CallInstance calls it; as a handler it may change itself.
static_assert(HasHooks<Counter>);

const auto put = [](const char* key, Json value) {
  return stateless([key, value = std::move(value)](const int& n, Context& context) {
    context.shared().set(key, value);
    return n;
  });
};

Workflow two_writers(const char* left, const char* right, workflow::detail::Reducer reducer,
                     Schedule schedule) {
  WorkflowBuilder builder("writers", {.schedule = schedule});
  builder.executor("start", [](const int& n) { return n; })
      .executor("left", put(left, 1))
      .executor("right", put(right, 2))
      .executor("read",
                [](const Json&, Context& context) {
                  const auto found = context.shared().find("key");
                  return found ? *found : Json();
                })
      .start("start")
      .fan_out("start", {"left", "right"})
      .fan_in({"left", "right"}, "read");
  if (reducer) builder.reducer("key", std::move(reducer));
  return built(builder);
}

}  // namespace

TEST_CASE("two executors that write one key at once are a conflict that names both",
          "[workflow][state]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto result = WorkflowRun(two_writers("key", "key", {}, schedule)).run(1);
  CHECK_ERRC(Errc::conflict, result);
  for (const char* part : {"\"key\"", "\"left\"", "\"right\""}) {
    CHECK_THAT(result.error().detail, ContainsSubstring(part));
  }
}

TEST_CASE("a reducer lets several executors write one key", "[workflow][state]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto with = [&](workflow::detail::Reducer reducer) {
    const auto result = WorkflowRun(two_writers("key", "key", std::move(reducer), schedule)).run(1);
    REQUIRE_OK(result);
    return result.value().value();
  };
  CHECK(with(reduce::append()) == Json::array({1, 2}));
  CHECK(with(reduce::sum()) == 3);
  CHECK(with(reduce::max()) == 2);
}

TEST_CASE("a write is seen by its writer at once and by others after the superstep",
          "[workflow][state]") {
  const auto look = [](const int& n, Context& context) {
    const int before = context.shared().value("n", 0);
    if (n == 1) context.shared().set("n", 5);
    return std::vector<int>{before, context.shared().value("n", 0)};
  };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("start",
                          [](const int&, Context& context) {
                            context.send_to("writer", 1);
                            context.send_to("reader", 2);
                          })
                .executor("writer", look)
                .executor("reader", look)
                .executor("both", [](const Json& both) { return both; })
                .executor("later", [](const Json&,
                                      Context& context) { return context.shared().value("n", 0); })
                .start("start")
                .fan_out("start", {"writer", "reader"})
                .fan_in({"writer", "reader"}, "both")
                .edge("writer", "later"));
  const auto result = WorkflowRun(graph).run(0);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 2);
  CHECK(result.value().outputs[0].value == Json::parse("[[0, 5], [0, 0]]"));
  CHECK(result.value().outputs[1].value == 5);
}

TEST_CASE("an executor with several messages in a superstep sees all that it has written before",
          "[workflow][state]") {
  const bool with_others = GENERATE(true, false);
  const auto add = [](const int& n, Context& context) {
    context.shared().set("sum", n);
    context.state().set("last", n + context.state().value("last", 0));
    context.output(Json{context.shared().value("sum", 0), context.state().value("last", 0)});
  };
  WorkflowBuilder builder("w");
  builder.reducer("sum", reduce::sum())
      .executor("start",
                [](const int&, Context& context) {
                  for (int n = 1; n <= 4; ++n) context.send(n);
                })
      .executor("adder", add)
      .start("start")
      .edge("start", "adder");
  if (with_others) {  // Whose writes it does not see yet.
    builder
        .executor("other", [](const int&, Context& context) { context.shared().set("sum", 100); })
        .edge("start", "other");
  }
  WorkflowRun run(built(builder));
  const auto result = run.run(0);
  REQUIRE_OK(result);
  Json seen = Json::array();
  for (const Output& one : result.value().outputs) seen.push_back(one.value);
  CHECK(seen == Json::parse("[[1, 1], [3, 3], [6, 6], [10, 10]]"));
  CHECK(run.state().value().at("s||").at("sum") == (with_others ? 410 : 10));
}

TEST_CASE("private state is an executor's own, and a nested workflow's shared state its own",
          "[workflow][state]") {
  const auto inner = built(WorkflowBuilder("inner")
                               .executor("write",
                                         [](const int& n, Context& context) {
                                           context.shared().set("key", "inner");
                                           context.state().set("mine", n);
                                           return n;
                                         })
                               .start("write"));
  const auto graph = built(WorkflowBuilder("outer")
                               .executor("first",
                                         [](const int& n, Context& context) {
                                           context.shared().set("key", "outer");
                                           return n;
                                         })
                               .executor("inner", inner)
                               .executor("last",
                                         [](const int&, Context& context) {
                                           CHECK(context.state().find("mine") == nullptr);
                                           return context.shared().value("key", std::string());
                                         })
                               .start("first")
                               .chain({"first", "inner", "last"}));
  WorkflowRun run(graph);
  const auto result = run.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == "outer");
  CHECK(run.state().value().at("s|inner|").at("key") == "inner");
}

TEST_CASE("an executor's members come back through its hooks, once", "[workflow][state]") {
  std::atomic<int> restored{0};
  std::atomic<bool> works{false};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("count", Counter{&restored, &works})
                               .executor("again",
                                         [](const int& n, Context& context) {
                                           if (context.occurrence() < 4) {
                                             context.send(1);
                                           } else {
                                             context.output(n);
                                           }
                                         })
                               .start("count")
                               .edge("count", "again")
                               .edge("again", "count", [](const Message&) { return true; }));
  const auto store = memory();
  CHECK_ERRC(Errc::escalated, WorkflowRun(graph, {.run_id = "w", .store = store}).run(10));
  CHECK(restored == 0);
  works = true;
  const auto result = WorkflowRun(graph, {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 13);
  CHECK(restored == 1);
}

TEST_CASE("what cannot be stored is refused, naming the executor", "[workflow][state]") {
  const auto with = [](auto handler) {
    return WorkflowRun(built(WorkflowBuilder("w").executor("a", handler).start("a"))).run(1);
  };
  const auto reserved = with([](const int& n, Context& context) {
    context.state().set("triage/x", n);
    return n;
  });
  CHECK_ERRC(Errc::invalid_argument, reserved);
  CHECK_THAT(reserved.error().detail, ContainsSubstring("\"a\""));
  CHECK_THAT(reserved.error().detail, ContainsSubstring("triage/x"));
  CHECK_ERRC(Errc::invalid_argument, with([](const int&, Context& context) {
               context.shared().set("x", std::numeric_limits<double>::quiet_NaN());
             }));
  CHECK_ERRC(Errc::invalid_argument,
             with([](const int&) { return std::numeric_limits<double>::infinity(); }));
}

TEST_CASE("a delivery that fails has written and sent nothing", "[workflow][state]") {
  FailurePolicy policy;
  policy.otherwise([](const FailureContext& failure) {
    return failure.attempt_number < 2 ? RecoveryAction::retry() : RecoveryAction::escalate();
  });
  std::atomic<int> calls{0};
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           const int seen = context.state().value("n", 0);
                                           context.state().set("n", seen + 1);
                                           context.output(seen);
                                           if (++calls == 1) throw std::runtime_error("again");
                                           static_cast<void>(n);
                                         }),
                                         {.policy = policy})
                               .start("a"));
  const auto result = WorkflowRun(graph, {.store = memory()}).run(1);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 1);
  CHECK(result.value().value() == 0);
}

TEST_CASE("an eager loop reads what it has written, however often it has gone round",
          "[workflow][state]") {
  constexpr int turns = 1'000;
  std::atomic<int> wrong{0};
  WorkflowBuilder builder("w", {.schedule = Schedule::eager, .max_supersteps = 10 * turns});
  builder.executor("start", [](const int& n) { return n; })
      .executor("reads", stateless([&](const std::vector<int>& in, Context& context) {
                  if (context.shared().value("last", 0) != in[0]) ++wrong;
                  context.shared().set("read", in[0]);
                  return in[0] + 1;
                }))
      .executor("writes", stateless([&](const int& n, Context& context) {
                  if (context.shared().value("read", -1) != n - 1) ++wrong;
                  context.shared().set("last", n);
                  return n;
                }))
      .start("start")
      .fan_in({"start", "writes"}, "reads", Join{Join::Kind::any, 1})
      .edge("reads", "writes", when<int>([](int n) { return n <= turns; }));
  WorkflowRun run(built(builder), {.threads = 1});
  REQUIRE_OK(run.run(0));
  CHECK(run.handler_calls() == 2 * turns + 2);
  CHECK(wrong == 0);
}

TEST_CASE("of what one delivery writes to a key with a reducer, each value is combined",
          "[workflow][state]") {
  // Counts the values that were written, so it is not associative.
  const workflow::detail::Reducer count = [](const Json& before, const Json&) {
    return Json(before.is_null() ? 1 : before.get<int>() + 1);
  };
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto store = memory();
  const auto graph = built(WorkflowBuilder("w", {.schedule = schedule})
                               .reducer("count", count)
                               .reducer("list", reduce::append())
                               .executor("first",
                                         [](const int& n, Context& context) {
                                           context.shared().set("count", "a");
                                           context.shared().set("list", Json::array({1, 2}));
                                           return n;
                                         })
                               .executor("second",
                                         [](const int& n, Context& context) {
                                           context.shared().set("count", "b");
                                           context.shared().set("count", "c");
                                           context.output(context.shared().value("count", 0));
                                           context.shared().remove("list");
                                           context.shared().set("list", 3);
                                           context.output(context.shared().value("list", Json()));
                                           return n;
                                         })
                               .executor("last",
                                         [](const int&, Context& context) {
                                           return Json{context.shared().value("count", 0),
                                                       context.shared().value("list", Json())};
                                         })
                               .start("first")
                               .chain({"first", "second", "last"}));
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  REQUIRE(done.value().outputs.size() == 3);
  CHECK(done.value().outputs[0].value == 3);
  CHECK(done.value().outputs[1].value == Json::array({3}));
  CHECK(done.value().outputs[2].value == Json{3, Json::array({3})});
  const auto stored = WorkflowRun(graph, {.run_id = "w", .store = store}).state();
  REQUIRE_OK(stored);
  CHECK(stored.value().at("s||").at("count") == 3);
}

namespace {

// The processor time of a chain of so many tasks; all see the first one's word, too.
double milliseconds_of_chain(int length) {
  TaskGraph graph("chain");
  graph.agent("ann", [](const TaskInput& task, Context& context) -> Json {
    if (task.context.empty()) context.shared().set("word", 7);
    if (context.shared().value("word", 0) != 7) throw std::logic_error("the word is lost");
    return 1 + (task.context.empty() ? 0 : task.context[0].output.get<int>());
  });
  for (int i = 0; i < length; ++i) {
    Task task{.id = std::to_string(i)};
    if (i > 0) task.depends_on = {std::to_string(i - 1)};
    graph.task(std::move(task));
  }
  WorkflowRun run(built(graph), {.threads = 1});
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double before = now();
  REQUIRE_OK(run.run(nullptr));
  const double took = now() - before;
  CHECK(run.state().value().at("s||tasks").at(std::to_string(length - 1)) == length);
  return took;
}

}  // namespace

TEST_CASE("a chain that is four times as long takes some four times as long", "[workflow][state]") {
  const auto least = [](int length) {
    return std::min(milliseconds_of_chain(length), milliseconds_of_chain(length));
  };
  CHECK(least(4'000) < 9 * least(1'000));
}

TEST_CASE("of a superstep that ended in a conflict nothing is in the state, in any process",
          "[workflow][state]") {
  const auto store = memory();
  const auto graph = built(WorkflowBuilder("conflict")
                               .executor("start", put("before", 0))
                               .executor("left", put("key", 1))
                               .executor("right", put("key", 2))
                               .start("start")
                               .fan_out("start", {"left", "right"}));
  WorkflowRun run(graph, {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::conflict, run.run(1));
  const auto elsewhere = WorkflowRun(graph, {.run_id = "w", .store = store}).state();
  REQUIRE_OK(elsewhere);
  CHECK(elsewhere.value() == Json{{"s||", {{"before", 0}}}});
  const auto here = run.state();
  REQUIRE_OK(here);
  CHECK(here.value() == elsewhere.value());
}
