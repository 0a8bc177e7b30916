// SPDX-License-Identifier: MIT
#include "kit.hpp"

#include <atomic>
#include <thread>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Two executors that ask at once, and one that joins what they were told.
Workflow asking(Schedule schedule) {
  const auto ask = [](const std::string& topic, Context& context) {
    return context.executor() + ":" + std::to_string(context.request<int>("score", topic));
  };
  return built(WorkflowBuilder("asking", {.schedule = schedule})
                   .port<int>("score")
                   .executor("start", [](const std::string& topic) { return topic; })
                   .executor("left", ask)
                   .executor("right", ask)
                   .executor("join",
                             [](const std::vector<std::string>& both) {
                               return both.at(0) + " " + both.at(1);
                             })
                   .start("start")
                   .fan_out("start", {"left", "right"})
                   .fan_in({"left", "right"}, "join"));
}

}  // namespace

TEST_CASE("a run that asks is suspended, answered in another process and finished there",
          "[workflow][requests]") {
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const auto store = memory();
  {
    WorkflowRun run(asking(schedule), {.run_id = "w", .store = store});
    CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
  }
  WorkflowRun other(asking(schedule), {.run_id = "w", .store = store});
  const auto pending = other.pending_requests();
  REQUIRE_OK(pending);
  REQUIRE(pending.value().size() == 2);
  CHECK(pending.value()[0].id == "left/1/score/1");
  CHECK(pending.value()[1].id == "right/1/score/1");
  CHECK(pending.value()[0].payload == "tea");
  REQUIRE_OK(other.answer("left/1/score/1", 3));
  CHECK_ERRC(Errc::suspended, other.resume());
  REQUIRE_OK(other.pending_requests());
  CHECK(other.pending_requests().value().size() == 1);
  REQUIRE_OK(other.answer("right/1/score/1", 4));
  const auto result = other.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == "left:3 right:4");
}

TEST_CASE("an answer to nothing, of another type, or a second one is refused",
          "[workflow][requests]") {
  const auto store = memory();
  WorkflowRun run(asking(Schedule::supersteps), {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
  CHECK_ERRC(Errc::not_found, run.answer("left/2/score/1", 3));
  CHECK_ERRC(Errc::invalid_argument, run.answer("left/1/score/1", "three"));
  REQUIRE_OK(run.answer("left/1/score/1", 3));  // The refusals have not used it up.
  CHECK_ERRC(Errc::conflict, run.answer("left/1/score/1", 3));
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  REQUIRE_OK(run.resume());
  CHECK_ERRC(Errc::not_found, run.answer("right/1/score/1", 4));
}

TEST_CASE("of many answers at once exactly one wins", "[workflow][requests]") {
  for (int round = 0; round < 50; ++round) {
    WorkflowRun run(asking(Schedule::supersteps), {.run_id = "w", .store = memory()});
    CHECK_ERRC(Errc::suspended, run.start_or_resume("tea"));
    std::atomic<int> won{0};
    {
      std::vector<std::jthread> people;
      for (int i = 0; i < 4; ++i) {
        people.emplace_back([&, i] { won += run.answer("left/1/score/1", i).has_value() ? 1 : 0; });
      }
    }
    REQUIRE(won == 1);
  }
}

TEST_CASE("what a handler did before it asked is an effect that is not repeated",
          "[workflow][requests]") {
  std::atomic<int> done{0};
  const auto graph = built(WorkflowBuilder("w")
                               .port<bool>("approve")
                               .executor("pay", stateless([&](const int& n, Context& context) {
                                           context.effect("reserve", [&] { ++done; });
                                           const bool yes = context.request<bool>("approve", n);
                                           return yes ? n : 0;
                                         }))
                               .start("pay"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(42));
  REQUIRE_OK(run.answer("pay/1/approve/1", true));
  const auto result = run.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 42);
  CHECK(done == 1);
}

TEST_CASE("a request that swallows its interruption is asked again all the same",
          "[workflow][requests]") {
  const auto graph = built(WorkflowBuilder("w")
                               .port<int>("n")
                               .executor("a",
                                         [](const int&, Context& context) {
                                           try {
                                             return context.request<int>("n", {});
                                           } catch (...) {
                                             return -1;
                                           }
                                         })
                               .start("a"));
  WorkflowRun run(graph, {.run_id = "w", .store = memory()});
  CHECK_ERRC(Errc::suspended, run.run(1));
  REQUIRE_OK(run.answer("a/1/n/1", 5));
  const auto result = run.resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 5);
}

TEST_CASE("a request needs a declared port and a store", "[workflow][requests]") {
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("a", [](const int&, Context& context) { return context.request<int>("n", {}); })
          .start("a"));
  const auto undeclared = WorkflowRun(graph, {.store = memory()}).run(1);
  CHECK_ERRC(Errc::invalid_argument, undeclared);
  CHECK_THAT(undeclared.error().detail, ContainsSubstring("\"n\" is not declared"));
  CHECK_ERRC(Errc::unsupported, WorkflowRun(asking(Schedule::supersteps)).run("tea"));
}
