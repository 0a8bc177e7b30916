// SPDX-License-Identifier: MIT
// Where messages go, and on which threads handlers run.
#include "kit.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a selector chooses who gets a message, and may not name a stranger",
          "[workflow][routes]") {
  const auto graph = [](std::vector<std::string> chosen) {
    const auto pass = [](const int& n) { return n; };
    return built(
        WorkflowBuilder("w")
            .executor("start", pass)
            .executor("a", pass)
            .executor("b", pass)
            .executor("c", pass)
            .start("start")
            .fan_out("start", {"a", "b", "c"}, [chosen](const Message&) { return chosen; }));
  };
  const auto some = WorkflowRun(graph({"c", "a"})).run(1);
  REQUIRE_OK(some);
  REQUIRE(some.value().outputs.size() == 2);
  CHECK(some.value().outputs[0].executor == "a");
  CHECK(some.value().outputs[1].executor == "c");
  const auto none = WorkflowRun(graph({})).run(1);
  REQUIRE_OK(none);
  CHECK(none.value().outputs.empty());
  const auto stranger = WorkflowRun(graph({"a", "d"})).run(1);
  CHECK_ERRC(Errc::invalid_argument, stranger);
  CHECK_THAT(stranger.error().detail, ContainsSubstring("\"d\"") && ContainsSubstring("a, b, c"));
}

TEST_CASE("handlers run on the program's own threads", "[workflow][routes]") {
  class Own final : public Threads {
   public:
    void start(std::function<void()> work) override {
      const std::scoped_lock lock(mutex_);
      threads_.emplace_back([this, work = std::move(work)] {
        {
          const std::scoped_lock own(mutex_);
          ids_.insert(std::this_thread::get_id());
        }
        work();
      });
    }
    [[nodiscard]] bool has(std::thread::id id) {
      const std::scoped_lock lock(mutex_);
      return ids_.contains(id);
    }

   private:
    std::mutex mutex_{};
    std::set<std::thread::id> ids_{};
    std::vector<std::jthread> threads_{};
  };
  const auto pool = std::make_shared<Own>();
  std::atomic<int> elsewhere{0};
  WorkflowBuilder builder("w");
  for (int i = 0; i < 10; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder
        .executor(id, stateless([&](const int& n) {
                    if (!pool->has(std::this_thread::get_id())) ++elsewhere;
                    return n;
                  }))
        .start(id);
  }
  WorkflowRun run(built(builder), {.run_id = "w", .store = memory(), .pool = pool});
  REQUIRE_OK(run.run(1));
  CHECK(run.handler_calls() == 10);
  CHECK(elsewhere == 0);
}

TEST_CASE("a number is never cut or wrapped to fit a handler", "[workflow][run]") {
  const auto refused = [](const Json& inputs, const std::string& says, const auto& handler) {
    INFO(inputs.dump());
    const auto graph = built(WorkflowBuilder("w").executor("a", handler).start("a"));
    const auto result = WorkflowRun(graph).run(inputs);
    CHECK_ERRC(Errc::invalid_argument, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("executor \"a\"") &&
                                          ContainsSubstring(says) &&
                                          !ContainsSubstring("json.exception"));
  };
  const auto whole = [](const int& n) { return n; };
  refused(5'000'000'000, "-2147483648 to 2147483647, and is 5000000000", whole);
  refused(-3, "a whole number from 0", [](const std::size_t& n) { return n; });
  refused(Json{{"n", 1}}, "and is {\"n\":1}", whole);
  const auto key = [](const Json&, Context& context) { return context.input<int>("n").value(); };
  for (const Json& wrong : {Json(1.5), Json("1"), Json(true), Json(1e300)}) {
    const auto graph = built(WorkflowBuilder("w").executor("a", key).start("a"));
    const auto result = WorkflowRun(graph).run({{"n", wrong}});
    CHECK_ERRC(Errc::escalated, result);
    CHECK_THAT(result.error().detail, ContainsSubstring("input \"n\" does not convert") &&
                                          ContainsSubstring("and is " + wrong.dump()));
  }
  const auto graph = built(WorkflowBuilder("w").executor("a", key).start("a"));
  CHECK(WorkflowRun(graph).run({{"n", 3.0}}).value().value() == 3);
}

TEST_CASE("a message without a value is null, and what is sent instead is checked",
          "[workflow][run]") {
  const auto sends = [](const Json&, Context& context) {
    context.send_message({});
    context.output_message({});
  };
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", sends)
                               .executor("b", [](const Json& json) { return json.is_null(); })
                               .start("a")
                               .edge("a", "b"));
  const auto result = WorkflowRun(graph).run(1);
  REQUIRE_OK(result);
  REQUIRE(result.value().outputs.size() == 2);
  CHECK(result.value().outputs[0].value.is_null());
  CHECK(result.value().outputs[1].value == true);

  const auto fails = [](const Json&) -> Result<int> { return Error{Errc::io, "no disk"}; };
  const auto instead = [](const Error&) {
    return make_message(std::numeric_limits<double>::quiet_NaN());
  };
  const auto odd =
      built(WorkflowBuilder("w").executor("a", fails, {.instead = instead}).start("a"));
  const auto store = memory();
  const auto refused = WorkflowRun(odd, {.run_id = "r", .store = store}).run(1);
  CHECK_ERRC(Errc::escalated, refused);
  CHECK_THAT(refused.error().detail,
             ContainsSubstring("no disk") && ContainsSubstring("what is sent instead"));
}

TEST_CASE("whatever is thrown while something is sent instead, the run fails and returns",
          "[workflow][run]") {
  const std::size_t threads = GENERATE(1U, 4U);
  const bool by_condition = GENERATE(false, true);
  const auto fails = [](const int&) -> Result<int> { return Error{Errc::io, "no disk"}; };
  const auto instead = [by_condition](const Error&) {
    if (!by_condition) throw 42;
    return make_message(1);
  };
  const auto condition = [](const Message&) -> bool { throw 42; };
  WorkflowBuilder builder("w");
  builder.executor("end", [](const int& n) { return n; });
  for (int i = 0; i < 8; ++i) {  // Some of them on other threads than the driver's.
    const std::string id = "n" + std::to_string(i);
    builder.executor(id, fails, {.instead = instead}).start(id).edge(id, "end", condition);
  }
  WorkflowRun run(built(builder), {.run_id = "r", .store = memory(), .threads = threads});
  const auto failed = run.run(1);
  CHECK_ERRC(Errc::escalated, failed);
  CHECK_THAT(failed.error().detail,
             ContainsSubstring("no disk (and what to send instead: an exception that is not"));
}

TEST_CASE("what a nested workflow sends out of several places comes in one order, whoever is first",
          "[workflow][routes]") {
  const auto pass = [](const int& n) { return n; };
  std::atomic<bool> works{false};
  std::vector<int> handled;
  const auto inner = built(
      WorkflowBuilder("inner", {.schedule = Schedule::eager})
          .port<int>("number")
          .executor("in", pass)
          .executor("slow",
                    [](const int&, Context& context) { return context.request<int>("number", {}); })
          .executor("fast", pass)
          .start("in")
          .fan_out("in", {"slow", "fast"}));
  const auto graph = built(WorkflowBuilder("outer", {.schedule = Schedule::eager})
                               .executor("inner", inner)
                               .executor("end", stateless([&](const int& n) -> Result<int> {
                                           if (n == 10 && !works) return Error{Errc::io, "no"};
                                           handled.push_back(n);
                                           return n;
                                         }))
                               .start("inner")
                               .edge("inner", "end"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory(), .threads = 1});
  CHECK_ERRC(Errc::suspended, run.run(2));
  REQUIRE_OK(run.answer("inner/slow/1/number/1", 10));
  CHECK_ERRC(Errc::io, run.resume());
  works = true;
  REQUIRE_OK(run.resume());
  CHECK(handled == std::vector<int>{10, 2});
}

TEST_CASE("a condition on numbers holds for none that its type would cut", "[workflow][routes]") {
  const auto pass = [](const std::int64_t& n) { return n; };
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("first", pass)
                .executor("small", pass)
                .executor("big", pass)
                .start("first")
                .choice("first", {{when<int>([](int n) { return n < 10; }), "small"}}, "big"));
  const auto way = [&](std::int64_t n) {
    const auto done = WorkflowRun(graph).run(n);
    REQUIRE_OK(done);
    REQUIRE(done.value().outputs.size() == 1);
    return done.value().outputs[0].executor;
  };
  CHECK(way(5) == "small");
  CHECK(way(50) == "big");
  CHECK(way(4'294'967'301) == "big");
}
