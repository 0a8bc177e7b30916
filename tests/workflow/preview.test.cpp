// SPDX-License-Identifier: MIT
// What a branch would run again, determined without writing anything.
#include "kit.hpp"
#include "triage/workflow/inspect.hpp"

#include <random>
#include <stdexcept>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

using How = std::map<std::string, std::string>;

How how_of(const std::vector<RerunView>& views) {
  How how;
  for (const RerunView& one : views) how[one.executor] = std::string(to_string(one.how));
  return how;
}

How previewed(CheckpointStore& store, const std::string& checkpoint, const Fork& edits) {
  const auto views = preview_fork(store, checkpoint, edits);
  REQUIRE_OK(views);
  return how_of(views.value());
}

std::string newest_checkpoint(const WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  return to_string(all.value().back().id);
}

Workflow trip() {
  return built(WorkflowBuilder("trip")
                   .executor("start", [](const Json& inputs) { return inputs.at("to"); })
                   .executor("hotel",
                             [](const Json& to, Context& context) {
                               const int nights = context.input<int>("nights").value_or(1);
                               context.shared().set("nights", nights);
                               return to.get<std::string>() + std::to_string(nights);
                             })
                   .executor("flight", [](const std::string& to) { return "to " + to; })
                   .executor("bill",
                             [](const Json& hotel, Context& context) {
                               return hotel.get<std::string>() + "x" +
                                      std::to_string(context.shared().value("nights", 0));
                             })
                   .start("start")
                   .fan_out("start", {"hotel", "flight"})
                   .edge("hotel", "bill"));
}

}  // namespace

TEST_CASE("a preview says what reads an edit, what may follow, and what is kept",
          "[workflow][preview]") {
  const auto store = memory();
  WorkflowRun run(trip(), {.run_id = "w", .store = store});
  REQUIRE_OK(run.run({{"to", "Rome"}, {"nights", 2}}));
  const std::string last = newest_checkpoint(run);
  const How nothing{{"start", "kept"}, {"hotel", "kept"}, {"flight", "kept"}, {"bill", "kept"}};
  CHECK(previewed(*store, last, {}) == nothing);
  CHECK(previewed(*store, last, {.outputs = {{"flight", "by train"}}})["flight"] == "edited");

  How hotel = previewed(*store, last, {.outputs = {{"hotel", "a tent"}}});
  CHECK(hotel == How{{"start", "kept"}, {"hotel", "edited"}, {"flight", "kept"}, {"bill", "runs"}});
  How same = previewed(*store, last, {.outputs = {{"hotel", "Rome2"}}});
  CHECK(same["bill"] == "kept");
  How state = previewed(*store, last, {.state = {{"nights", 9}}});
  CHECK(state["bill"] == "runs");
  CHECK(state["flight"] == "kept");
  // Its message is all inputs, so it runs; what it sends may be the same.
  How nights = previewed(*store, last, {.inputs = {{"nights", 3}}});
  CHECK(nights ==
        How{{"start", "runs"}, {"hotel", "runs"}, {"flight", "may_run"}, {"bill", "may_run"}});
  CHECK_ERRC(Errc::invalid_argument, preview_fork(*store, last, {.outputs = {{"boat", 1}}}));
  CHECK_ERRC(Errc::not_found, preview_fork(*store, "nobody@1", {}));
}

TEST_CASE("a branch that is made by the store alone is run by whoever has the workflow",
          "[workflow][preview]") {
  const auto store = memory();
  WorkflowRun run(trip(), {.run_id = "w", .store = store});
  REQUIRE_OK(run.run({{"to", "Rome"}, {"nights", 2}}));
  const Fork edits{.label = "longer", .inputs = {{"nights", 3}}, .author = "ann"};
  REQUIRE_OK(branch_off(store, newest_checkpoint(run), "b", edits));
  CHECK_ERRC(Errc::conflict, branch_off(store, newest_checkpoint(run), "c", edits));
  WorkflowRun branch(trip(), {.run_id = "b", .store = store});
  const auto done = branch.resume();
  REQUIRE_OK(done);
  CHECK(done.value().value() == "Rome3x3");
  CHECK(called(branch) == std::set<std::string>{"start", "hotel", "bill"});
  CHECK(branches(*store, "w").value().back().author == "ann");
}

TEST_CASE("what runs in a branch of a random graph was previewed, and what is certain runs",
          "[workflow][preview]") {
  std::mt19937 rng(11);
  for (int round = 0; round < 60; ++round) {
    const std::size_t nodes = 3 + rng() % 12;
    TaskGraph graph("plan");
    graph.agent("worker", [](const TaskInput& task) {
      std::size_t sum = 0;
      for (const TaskOutput& one : task.context) {
        sum = sum * 31 + std::hash<std::string>()(one.output.get<std::string>());
      }
      return task.id + std::to_string(sum % 3);  // Often the same for different context.
    });
    for (std::size_t i = 0; i < nodes; ++i) {
      Task task{.id = "t" + std::to_string(i)};
      std::set<std::string> before;
      for (std::size_t k = 0; i > 0 && k < rng() % 3; ++k) {
        before.insert("t" + std::to_string(rng() % i));
      }
      task.depends_on = {before.begin(), before.end()};
      graph.task(std::move(task));
    }
    const auto store = memory();
    WorkflowRun origin(built(graph), {.run_id = "w", .store = store});
    REQUIRE_OK(origin.run({}));
    const std::string edited = "t" + std::to_string(rng() % nodes);
    const Fork edits{.label = "b", .outputs = {{edited, "edited"}}};
    const How expected = previewed(*store, newest_checkpoint(origin), edits);
    WorkflowRun branch(built(graph), {.run_id = "b", .store = store});
    REQUIRE_OK(branch.fork(newest_checkpoint(origin), edits));
    INFO("round " << round);
    const auto ran = called(branch);
    for (const auto& [executor, how] : expected) {
      INFO(executor << " " << how);
      if (ran.contains(executor)) REQUIRE((how == "runs" || how == "may_run"));
      if (how == "runs") REQUIRE(ran.contains(executor));
    }
  }
}

TEST_CASE("a preview says that what failed runs again, with what depends on it",
          "[workflow][preview]") {
  const auto store = memory();
  bool fails = true;
  TaskGraph graph("tasks");
  graph
      .agent("ann",
             [&](const TaskInput& task) -> Json {
               if (task.id == "b" && fails) throw std::runtime_error("no");
               return task.id;
             })
      .task({.id = "a"})
      .task({.id = "b"})
      .task({.id = "c", .depends_on = {"b"}});
  WorkflowRun run(built(graph), {.run_id = "w", .store = store, .threads = 1});
  CHECK_FALSE(run.run(nullptr).has_value());
  const Fork edits{.label = "e", .outputs = {{"a", "A"}}};
  CHECK(previewed(*store, newest_checkpoint(run), edits) ==
        How{{"a", "edited"}, {"b", "runs"}, {"c", "may_run"}});
  fails = false;
  WorkflowRun branch(built(graph), {.run_id = "b", .store = store});
  REQUIRE_OK(branch.fork(newest_checkpoint(run), edits));
  CHECK(called(branch) == std::set<std::string>{"b", "c"});
}

TEST_CASE("in a preview of a branch's branch the earlier edit stands", "[workflow][preview]") {
  const auto store = memory();
  WorkflowRun run(trip(), {.run_id = "w", .store = store});
  REQUIRE_OK(run.run({{"to", "Rome"}, {"nights", 2}}));
  WorkflowRun first(trip(), {.run_id = "first", .store = store});
  REQUIRE_OK(first.fork(newest_checkpoint(run), {.label = "f", .outputs = {{"hotel", "Ritz"}}}));
  const Fork edits{.label = "s", .inputs = {{"nights", 5}}};
  CHECK(previewed(*store, newest_checkpoint(first), edits)["hotel"] == "kept");
  WorkflowRun second(trip(), {.run_id = "second", .store = store});
  REQUIRE_OK(second.fork(newest_checkpoint(first), edits));
  CHECK(called(second) == std::set<std::string>{"start"});
}
