// SPDX-License-Identifier: MIT
// What a run no longer comes to does not count.
#include "kit.hpp"
#include "triage/workflow/inspect.hpp"

#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

std::vector<std::string> delivered(const WorkflowRun& run) {
  const auto deliveries = run.deliveries();
  REQUIRE_OK(deliveries);
  std::vector<std::string> paths;
  for (const auto& one : deliveries.value()) paths.push_back(one.executor);
  return paths;
}

bool is_one(const Message& message) { return message.json() == 1; }

// 1 goes to "one", all else to "other"; "end" reads what "one" writes.
Workflow crossing() {
  return built(
      WorkflowBuilder("crossing")
          .executor("a", [](const Json& in) { return in; })
          .executor("one",
                    [](const Json& in, Context& context) {
                      context.shared().set("k", 1);
                      return in;
                    })
          .executor("other",
                    [](const Json& in, Context& context) {
                      context.shared().set("m", 2);
                      return in;
                    })
          .executor("end", [](const Json&,
                              Context& context) { return context.shared().value<int>("k", -1); })
          .start("a")
          .choice("a", {{is_one, "one"}}, "other")
          .edge("one", "end")
          .edge("other", "end"));
}

}  // namespace

TEST_CASE("what a branch no longer comes to is neither in its state nor in its deliveries",
          "[workflow][unreached]") {
  const auto store = memory();
  const auto graph = crossing();
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run(1));
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  REQUIRE_OK(branch.fork(last_checkpoint(origin), {.label = "b", .outputs = {{"a", 2}}}));
  const WorkflowRun elsewhere(graph, {.run_id = "branch", .store = store});
  const auto state = elsewhere.state();
  REQUIRE_OK(state);
  CHECK(state.value()["s||"] == Json{{"m", 2}});
  CHECK(state.value() == branch.state().value());
  CHECK(delivered(elsewhere) == std::vector<std::string>{"a", "other", "end"});
  CHECK(delivered(WorkflowRun(graph, {.run_id = "origin", .store = store})) ==
        std::vector<std::string>{"a", "one", "end"});

  // An edit of its last checkpoint reaches those who read the value.
  WorkflowRun edited(graph, {.run_id = "edited", .store = store});
  const auto result = edited.fork(last_checkpoint(branch), {.label = "e", .state = {{"k", 7}}});
  REQUIRE_OK(result);
  CHECK(result.value().value() == 7);
  WorkflowRun dead(graph, {.run_id = "dead", .store = store});
  CHECK_ERRC(Errc::invalid_argument,
             dead.fork(last_checkpoint(branch), {.label = "d", .outputs = {{"one", 3}}}));
}

TEST_CASE("rounds of a loop that a branch does not make are not counted", "[workflow][unreached]") {
  const auto store = memory();
  const auto graph = built(
      WorkflowBuilder("loop")
          .reducer("n",
                   [](const Json& sum, const Json& more) {
                     return sum.is_null() ? more : Json(sum.get<int>() + more.get<int>());
                   })
          .executor("round",
                    [](int left, Context& context) {
                      context.shared().set("n", 1);
                      const int fewer = context.input<int>("by").value();
                      return left - fewer;
                    })
          .executor("end", [](int) { return "end"; })
          .executor("begin", [](const Json&) { return 6; })
          .start("begin")
          .edge("begin", "round")
          .choice("round", {{[](const Message& message) { return message.json() > 0; }, "round"}},
                  "end"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  REQUIRE_OK(origin.run({{"by", 1}}));
  CHECK(WorkflowRun(graph, {.run_id = "origin", .store = store}).state().value()["s||"]["n"] == 6);
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  REQUIRE_OK(branch.fork(last_checkpoint(origin), {.label = "b", .inputs = {{"by", 3}}}));
  const WorkflowRun elsewhere(graph, {.run_id = "branch", .store = store});
  CHECK(elsewhere.state().value()["s||"]["n"] == 2);
  CHECK(delivered(elsewhere) == std::vector<std::string>{"begin", "round", "round", "end"});
}

TEST_CASE("what followed from a failure is gone once a retry goes the other way",
          "[workflow][unreached]") {
  const auto store = memory();
  bool fails = true;
  ExecutorOptions options;
  options.instead = [](const Error&) {
    return Message{"json", std::make_shared<const Json>("bad")};
  };
  const auto graph = built(
      WorkflowBuilder("retry")
          .executor("a", stateless([&](const Json&, Context& context) -> Result<Json> {
                      if (fails) return context.fail({.text = "no"});
                      return outcome::success(Json("good"));
                    }),
                    options)
          .executor("alarm",
                    [](const Json&, Context& context) { context.shared().set("alarm", true); })
          .executor("fine",
                    [](const Json&, Context& context) { context.shared().set("fine", true); })
          .start("a")
          .choice("a", {{[](const Message& message) { return message.json() == "bad"; }, "alarm"}},
                  "fine"));
  WorkflowRun run(graph, {.run_id = "run", .store = store});
  CHECK_FALSE(run.run(1).has_value());
  fails = false;
  REQUIRE_OK(run.resume());
  const WorkflowRun elsewhere(graph, {.run_id = "run", .store = store});
  CHECK(elsewhere.state().value()["s||"] == Json{{"fine", true}});
  CHECK(delivered(elsewhere) == std::vector<std::string>{"a", "fine"});
}

TEST_CASE("questions of a way that a branch does not take are not open in it",
          "[workflow][unreached]") {
  const auto store = memory();
  const auto asks = [](const Json& in, Context& context) {
    return context.request<bool>("p", "sure?") ? in : Json("no");
  };
  const auto graph =
      built(WorkflowBuilder("asks", {.checkpoints = CheckpointPolicy{.on = CheckpointTrigger::all}})
                .port<bool>("p")
                .executor("a", [](const Json& in) { return in; })
                .executor("one", asks)
                .executor("other", [](const Json& in) { return in; })
                .executor("later", asks)
                .start("a")
                .choice("a", {{is_one, "one"}}, "other")
                .edge("other", "later"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK_ERRC(Errc::suspended, origin.run(1));
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  CHECK_ERRC(Errc::suspended,
             branch.fork(last_checkpoint(origin), {.label = "b", .outputs = {{"a", 2}}}));
  const auto open = branch.pending_requests();
  REQUIRE_OK(open);
  REQUIRE(open.value().size() == 1);
  CHECK(open.value().front().executor == "later");
  CHECK(origin.pending_requests().value().size() == 1);
  REQUIRE_OK(branch.answer(open.value().front().id, true));
  REQUIRE_OK(branch.resume());
  CHECK(branch.pending_requests().value().empty());
}

TEST_CASE("what an answer may still lead to is kept while a branch waits",
          "[workflow][unreached]") {
  const auto store = memory();
  int calls = 0;
  const auto graph = built(
      WorkflowBuilder("keeps")
          .port<std::string>("p")
          .executor("a", [](const Json& in) { return in; })
          .executor("asks", [](const Json& in,
                               Context& context) { return context.request<std::string>("p", in); })
          .executor("after", stateless([&](const std::string& in) {
                      ++calls;
                      return in;
                    }))
          .start("a")
          .edge("a", "asks")
          .edge("asks", "after"));
  WorkflowRun origin(graph, {.run_id = "origin", .store = store});
  CHECK_ERRC(Errc::suspended, origin.run(1));
  REQUIRE_OK(origin.answer("asks/1/p/1", "x"));
  REQUIRE_OK(origin.resume());
  WorkflowRun branch(graph, {.run_id = "branch", .store = store});
  CHECK_ERRC(Errc::suspended,
             branch.fork(last_checkpoint(origin), {.label = "b", .outputs = {{"a", 2}}}));
  REQUIRE_OK(branch.answer("asks/1/p/1", "x"));
  REQUIRE_OK(branch.resume());
  CHECK(calls == 1);
}
