// SPDX-License-Identifier: MIT
#include "kit.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <atomic>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Counts in memory from 1 to 4, and returns what it finds there.
Workflow counting(std::atomic<int>* fails_at = nullptr) {
  return built(WorkflowBuilder("w")
                   .executor("count", stateless([fails_at](const int& n, Context& context) {
                               auto memory = context.memory("ann");
                               const int before = memory.value("count", 0);
                               memory.set("count", before + 1);
                               if (fails_at != nullptr && n == *fails_at)
                                 throw std::runtime_error("no");
                               context.output(memory.value("count", 0));
                               return n + 1;
                             }))
                   .start("count")
                   .edge("count", "count", when<int>([](int n) { return n <= 4; })));
}

}  // namespace

TEST_CASE("each checkpoint has its version of the memory, and a branch brings it back",
          "[workflow][memory]") {
  const auto store = memory();
  WorkflowRun run(counting(), {.run_id = "w", .store = store});
  const auto result = run.run(1);
  REQUIRE_OK(result);
  CHECK(result.value().value() == 4);
  const auto checkpoints = run.checkpoints();
  REQUIRE_OK(checkpoints);
  REQUIRE(checkpoints.value().size() == 5);
  for (std::size_t i = 1; i < 5; ++i) {
    auto branch = rehydrate(counting(), to_string(checkpoints.value()[i].id), store);
    REQUIRE_OK(branch);
    const auto again = branch.value().resume();
    REQUIRE_OK(again);
    CHECK(again.value().value() == 4);
    CHECK(branch.value().handler_calls() == 4 - i);
  }
  const auto back = run.restore(to_string(checkpoints.value()[2].id));
  REQUIRE_OK(back);
  CHECK(back.value().value() == 4);
}

TEST_CASE("what a failed delivery remembered is nowhere", "[workflow][memory]") {
  std::atomic<int> fails_at{3};
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(counting(&fails_at), {.run_id = "w", .store = store}).run(1).has_value());
  fails_at = 0;
  const auto result = WorkflowRun(counting(&fails_at), {.run_id = "w", .store = store}).resume();
  REQUIRE_OK(result);
  CHECK(result.value().value() == 4);
}

TEST_CASE("a memory tells who wrote it and when, for as long as it was to live",
          "[workflow][memory]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto graph = built(
      WorkflowBuilder("w")
          .executor("write",
                    [](const int& n, Context& context) {
                      context.memory("ann").set("turns", "t", {.turns = 1});
                      context.memory("ann").set("time", "m", {.time = std::chrono::seconds(5)});
                      context.memory("ann").set("ever", "e");
                      context.memory("bob").set("ever", "other");
                      return n;
                    })
          .executor("next", stateless([clock](const int& n, Context& context) {
                      const auto found = context.memory("ann").find("turns");
                      CHECK(found.has_value());
                      CHECK((found && found->author == "write" && found->turn == 1));
                      CHECK(context.memory("ann").find("time").has_value());
                      context.memory("bob").forget("ever");
                      clock->advance(std::chrono::seconds(6));
                      return n;
                    }))
          .executor("last",
                    [](const int& n, Context& context) {
                      CHECK_FALSE(context.memory("ann").find("turns").has_value());
                      CHECK_FALSE(context.memory("ann").find("time").has_value());
                      CHECK(context.memory("ann").value("ever", std::string()) == "e");
                      CHECK_FALSE(context.memory("bob").find("ever").has_value());
                      return n;
                    })
          .start("write")
          .chain({"write", "next", "last"}));
  REQUIRE_OK(WorkflowRun(graph, {.clock = clock}).run(1));
}

TEST_CASE("an executor that remembers the same again does not make its readers run again",
          "[workflow][memory][fork]") {
  const auto graph =
      built(WorkflowBuilder("w")
                .executor("write", stateless([](const Json& inputs, Context& context) {
                            const int wanted = context.input<int>("wanted").value_or(0);
                            context.memory("ann").set("rounded", wanted / 10,
                                                      {.time = std::chrono::hours(1)});
                            return inputs.is_null();
                          }))
                .executor("read",
                          [](bool, Context& context) {
                            return context.memory("ann").value("rounded", -1);
                          })
                .start("write")
                .edge("write", "read"));
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto store = memory();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store, .clock = clock});
  REQUIRE_OK(origin.run({{"wanted", 41}}));
  const std::string entry = to_string(origin.checkpoints().value().back().id);
  const auto branch = [&](int wanted) {
    clock->advance(std::chrono::minutes(1));
    WorkflowRun run(graph, {.store = store, .clock = clock});
    const auto label = "wanted " + std::to_string(wanted);
    REQUIRE_OK(run.fork(entry, {.label = label, .inputs = {{"wanted", wanted}}}));
    return called(run);
  };
  CHECK(branch(42) == std::set<std::string>{"write"});
  CHECK(branch(77) == std::set<std::string>{"write", "read"});
}

TEST_CASE("a lifetime of nothing is refused", "[workflow][memory]") {
  for (const auto& [options, says] :
       {std::pair{MemoryOptions{.turns = 0}, "is 0 turns; allowed is 1 or more"},
        std::pair{MemoryOptions{.time = std::chrono::milliseconds(-1)},
                  "is -1 ms; allowed is 1"}}) {
    const auto graph =
        built(WorkflowBuilder("w")
                  .executor("a", stateless([options = options](const int& n, Context& context) {
                              context.memory("ann").set("key", 1, options);
                              return n;
                            }))
                  .start("a"));
    const auto refused = WorkflowRun(graph).run(1);
    CHECK_ERRC(Errc::invalid_argument, refused);
    CHECK_THAT(refused.error().detail,
               ContainsSubstring("memory \"key\"") && ContainsSubstring(says));
  }
}

TEST_CASE("a resource that is not what it was is an event, and the new one is handed on",
          "[workflow][memory]") {
  std::atomic<bool> works{false};
  std::vector<Json> changed;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int&, Context& context) {
                                           if (!works) throw std::runtime_error("no");
                                           CHECK_FALSE(context.resource("none").has_value());
                                           return context.resource("manual").value().digest;
                                         }))
                               .start("a"));
  const auto store = memory();
  const auto with = [&](const std::string& digest) {
    return WorkflowRun(graph, {.run_id = "w",
                               .store = store,
                               .on_event =
                                   [&](const WorkflowEvent& event) {
                                     if (event.kind == WorkflowEventKind::resource_changed)
                                       changed.push_back(event.value);
                                   },
                               .resources = {{"manual", "file", digest}}})
        .start_or_resume(1);
  };
  CHECK_FALSE(with("one").has_value());
  CHECK_FALSE(with("one").has_value());
  CHECK(changed.empty());
  works = true;
  const auto result = with("two");
  REQUIRE_OK(result);
  CHECK(result.value().value() == "two");
  REQUIRE(changed.size() == 1);
  CHECK(changed[0] ==
        Json{{"name", "manual"}, {"kind", "file"}, {"before", "one"}, {"now", "two"}});
  CHECK_ERRC(Errc::invalid_argument,
             WorkflowRun(graph, {.resources = {{"x", "", ""}, {"x", "", ""}}}).run(1));
}

TEST_CASE("a memory with the longest lifetime there is lives", "[workflow][memory]") {
  WorkflowBuilder builder("w");
  builder
      .executor("a", stateless([](const int& n, Context& context) {
                  context.memory("m").set("x", n, {.time = std::chrono::milliseconds::max()});
                  return n;
                }))
      .executor("b", stateless([](const int&, Context& context) {
                  return context.memory("m").find("x").has_value();
                }));
  WorkflowRun run(built(builder.start("a").edge("a", "b")), {});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == true);
}
