// SPDX-License-Identifier: MIT
#include "triage/workflow/inspect.hpp"
#include "asking_graph.hpp"
#include "kit.hpp"

#include <mutex>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;
using Kind = WorkflowEventKind;

namespace {

Workflow plain_graph() {
  return asking_graph([](const Json& in) { return in.at("topic"); },
                      [](const std::string& topic) { return "left " + topic; });
}

std::shared_ptr<CheckpointStore> finished_store() {
  auto store = memory();
  WorkflowRun run(plain_graph(), {.run_id = "w", .store = store, .threads = 1});
  CHECK_ERRC(Errc::suspended, run.run({{"topic", "tea"}}));
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  REQUIRE_OK(run.resume());
  return store;
}

std::vector<std::string> kinds(const std::vector<WorkflowEvent>& events) {
  std::vector<std::string> names;
  for (const auto& event : events) {
    names.push_back(std::string(to_string(event.kind)) +
                    (event.executor.empty() ? "" : " " + event.executor));
  }
  return names;
}

}  // namespace

TEST_CASE("what happened in a run is read from its store, from any record on, in any process",
          "[workflow][inspect]") {
  const auto store = finished_store();
  const WorkflowRun later(plain_graph(), {.run_id = "w", .store = store});
  const auto all = later.events();
  REQUIRE_OK(all);
  CHECK(kinds(all.value()) ==
        std::vector<std::string>{
            "run_started", "checkpoint_saved", "executor_completed plan", "superstep_completed",
            "executor_completed left", "request_opened right", "run_suspended", "run_resumed",
            "request_answered right", "executor_completed right", "superstep_completed",
            "executor_completed both", "output both", "superstep_completed", "run_finished"});
  const WorkflowEvent& middle = all.value()[6];
  const auto rest = later.events(middle.sequence);
  REQUIRE_OK(rest);
  CHECK(rest.value().size() == all.value().size() - 6);
  CHECK(rest.value().front().kind == Kind::run_suspended);
  REQUIRE(all.value()[3].checkpoint.has_value());
  CHECK(all.value()[3].checkpoint->trigger == "superstep_ended/1");
  CHECK(all.value()[5].occurrence == 1);
  CHECK(all.value()[8].value == 4);
  CHECK(all.value()[8].occurrence == 1);
  CHECK_ERRC(Errc::not_found, WorkflowRun(plain_graph()).events());
}

TEST_CASE("a run that is watched tells what it does as it does it", "[workflow][inspect]") {
  std::mutex mutex;
  std::vector<WorkflowEvent> seen;
  const auto watch = [&](const WorkflowEvent& event) {
    const std::scoped_lock lock(mutex);
    seen.push_back(event);
  };
  const auto store = memory();
  WorkflowRun run(plain_graph(), {.run_id = "w", .store = store, .threads = 1, .on_event = watch});
  CHECK_ERRC(Errc::suspended, run.run({{"topic", "tea"}}));
  const auto first = kinds(seen);
  CHECK(std::count(first.begin(), first.end(), "executor_started right") == 1);
  CHECK(std::count(first.begin(), first.end(), "request_opened right") == 1);
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  seen.clear();
  REQUIRE_OK(run.resume());
  const auto second = kinds(seen);
  CHECK(std::count(second.begin(), second.end(), "executor_reused plan") == 1);
  CHECK(std::count(second.begin(), second.end(), "executor_started plan") == 0);
  CHECK(std::count(second.begin(), second.end(), "request_opened right") == 0);
  CHECK(std::count(second.begin(), second.end(), "request_answered right") == 1);
  CHECK(std::count(second.begin(), second.end(), "output both") == 1);
}

TEST_CASE("a run that is watched tells what its store tells later, in the same order",
          "[workflow][inspect]") {
  std::vector<WorkflowEvent> live;
  const auto watch = [&](const WorkflowEvent& event) { live.push_back(event); };
  const auto store = memory();
  WorkflowRun run(plain_graph(), {.run_id = "w",
                                  .store = store,
                                  .threads = 1,
                                  .on_event = watch,
                                  .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::all}});
  CHECK_ERRC(Errc::suspended, run.run({{"topic", "tea"}}));
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  REQUIRE_OK(run.resume());
  std::erase_if(live, [](const WorkflowEvent& event) {
    const bool is_superstep =
        event.checkpoint && event.checkpoint->trigger.rfind("superstep_ended", 0) == 0;
    return event.kind == Kind::executor_started || event.kind == Kind::executor_reused ||
           (event.kind == Kind::superstep_completed && !is_superstep) ||
           (event.kind == Kind::checkpoint_saved && is_superstep);
  });
  auto stored = run.events();
  REQUIRE_OK(stored);
  std::erase_if(stored.value(), [](const WorkflowEvent& event) {
    return to_string(event.kind).rfind("run_", 0) == 0;
  });
  const auto what = [](const std::vector<WorkflowEvent>& events) {
    std::vector<std::string> told;
    for (const WorkflowEvent& one : events) {
      told.push_back(std::string(to_string(one.kind)) + " " +
                     (one.checkpoint ? one.checkpoint->trigger : one.executor + one.request));
    }
    return told;
  };
  CHECK(what(live) == what(stored.value()));
}

TEST_CASE("a checkpoint is looked at without the program that made it", "[workflow][inspect]") {
  const auto store = finished_store();
  const auto now = inspect(*store, "w");
  REQUIRE_OK(now);
  CHECK(now.value().workflow == "asks");
  CHECK(now.value().inputs == Json{{"topic", "tea"}});
  CHECK(now.value().deliveries.size() == 4);
  CHECK(now.value().pending.empty());
  CHECK(now.value().answers.at("right/1/score/1") == 4);
  const WorkflowRun run(plain_graph(), {.run_id = "w", .store = store});
  const auto checkpoints = run.checkpoints();
  REQUIRE_OK(checkpoints);
  const auto first = inspect(*store, to_string(checkpoints.value()[1].id));
  REQUIRE_OK(first);
  REQUIRE(first.value().deliveries.size() == 1);
  CHECK(first.value().deliveries[0].executor == "plan");
  CHECK(first.value().deliveries[0].sent == std::vector<Json>{"tea"});
  CHECK_ERRC(Errc::not_found, inspect(*store, "nobody"));
}

TEST_CASE("a branch has an entry of its own, at which further ones may begin",
          "[workflow][inspect]") {
  const auto store = finished_store();
  const auto checkpoints_of = [&](const std::string& run) {
    const auto all = WorkflowRun(plain_graph(), {.run_id = run, .store = store}).checkpoints();
    REQUIRE_OK(all);
    REQUIRE_FALSE(all.value().empty());
    CHECK(all.value().front().trigger == "run_started");
    return all.value();
  };
  for (const CheckpointInfo& from : checkpoints_of("w")) {
    const std::string id = "branch" + std::to_string(from.id.sequence);
    WorkflowRun branch(plain_graph(), {.run_id = id, .store = store});
    const auto done = branch.fork(to_string(from.id), {.inputs = {{"topic", "milk"}}});
    REQUIRE((done || done.error().code == Errc::suspended));
    const std::string entry = to_string(checkpoints_of(id).front().id);
    const auto there = inspect(*store, entry);
    REQUIRE_OK(there);
    CHECK(there.value().inputs == Json{{"topic", "milk"}});
    auto again = rehydrate(plain_graph(), entry, store, {.run_id = id + "-again"});
    REQUIRE_OK(again);
    const auto second = again.value().resume();
    CHECK(second.has_value() == done.has_value());
  }
}

TEST_CASE("branches are shown under their parents, with what became of each executor",
          "[workflow][inspect]") {
  const auto store = finished_store();
  const std::string at = to_string([&] {
    const auto all = WorkflowRun(plain_graph(), {.run_id = "w", .store = store}).checkpoints();
    REQUIRE_OK(all);
    return all.value().back().id;
  }());
  WorkflowRun branch(plain_graph(), {.run_id = "branch", .store = store});
  REQUIRE_OK(
      branch.fork(at, {.label = "what if", .outputs = {{"left", "right "}}, .author = "ann"}));
  const auto family = branches(*store, "branch");
  REQUIRE_OK(family);
  REQUIRE(family.value().size() == 2);
  CHECK(family.value()[0].run.id == "w");
  CHECK(family.value()[0].parent.empty());
  CHECK(family.value()[0].nodes.at("both") == NodeStatus::done);
  const BranchView& child = family.value()[1];
  CHECK(child.run.id == "branch");
  CHECK(child.parent == at);
  CHECK(child.author == "ann");
  CHECK(child.nodes == std::map<std::string, NodeStatus>{{"plan", NodeStatus::skipped},
                                                         {"left", NodeStatus::edited},
                                                         {"right", NodeStatus::skipped},
                                                         {"both", NodeStatus::invalidated}});
}

TEST_CASE("what made an automatic checkpoint is no label, and no label may look like the library's",
          "[workflow][inspect]") {
  const auto graph =
      built(WorkflowBuilder("w").executor("a", [](const int& n) { return n; }).start("a"));
  const auto store = memory();
  std::vector<WorkflowEvent> told;
  WorkflowRun run(graph, {.run_id = "w",
                          .store = store,
                          .label = "triages",
                          .on_event = [&](const auto& event) { told.push_back(event); },
                          .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::all}});
  REQUIRE_OK(run.run(1));
  const auto listed = run.checkpoints();
  const auto tree = branches(*store, "w");
  const auto recorded = run.events();
  REQUIRE_OK(listed);
  REQUIRE_OK(tree);
  REQUIRE_OK(recorded);
  std::vector<WorkflowCheckpoint> all = listed.value();
  all.insert(all.end(), tree.value().front().checkpoints.begin(),
             tree.value().front().checkpoints.end());
  for (const std::vector<WorkflowEvent>* events : {&std::as_const(told), &recorded.value()}) {
    for (const WorkflowEvent& one : *events) {
      if (one.checkpoint) all.push_back(*one.checkpoint);
    }
  }
  CHECK(all.size() == 9);
  for (const WorkflowCheckpoint& one : all) {
    CHECK(one.label.empty());
    CHECK_FALSE(one.trigger.empty());
    CHECK(one.trigger.rfind("triage/", 0) != 0);
  }

  const std::string mine = "triage/mine";
  const auto refused = WorkflowRun(graph, {.run_id = "x", .store = store, .label = mine}).run(1);
  const auto branch = WorkflowRun(graph, {.run_id = "x", .store = store})
                          .fork(to_string(all.front().id), {.label = mine});
  for (const auto* one : {&refused, &branch}) {
    CHECK_ERRC(Errc::invalid_argument, *one);
    CHECK_THAT(one->error().detail, ContainsSubstring("label is \"triage/mine\"; allowed are") &&
                                        ContainsSubstring("do not begin with \"triage/\""));
  }
  CHECK_ERRC(Errc::not_found, store->run("x"));
}

TEST_CASE("what a run shows is new when another process has finished it", "[workflow][inspect]") {
  const auto store = memory();
  const TaskGraph graph = [] {
    TaskGraph tasks("plan");
    tasks.port<int>("score").agent("ann", [](const TaskInput&, Context& context) {
      return context.request<int>("score", "how many?");
    });
    return tasks.task({.id = "a"});
  }();
  WorkflowRun mine(built(graph), {.run_id = "w", .store = store});
  CHECK_ERRC(Errc::suspended, mine.run(nullptr));
  CHECK(graph.tasks(mine).value().at(0).status == TaskStatus::pending);
  WorkflowRun other(built(graph), {.run_id = "w", .store = store});
  REQUIRE_OK(other.answer("a/1/score/1", 7));
  REQUIRE_OK(other.resume());
  REQUIRE_OK(mine.resume());
  CHECK(mine.handler_calls() == 1);
  CHECK(mine.state().value() == other.state().value());
  CHECK(how_they_ran(mine) == std::map<std::string, Ran>{{"a", Ran::reused}});
  const auto tasks = graph.tasks(mine);
  REQUIRE_OK(tasks);
  CHECK(tasks.value().at(0).status == TaskStatus::completed);
  CHECK(tasks.value().at(0).output == 7);
}

TEST_CASE("why a run was stopped is not told of one that another process has finished",
          "[workflow][inspect]") {
  const auto store = memory();
  WorkflowRun* self = nullptr;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           if (self != nullptr) REQUIRE_OK(self->pause());
                                           return n;
                                         }))
                               .executor("b", [](const int& n) { return n; })
                               .start("a")
                               .edge("a", "b"));
  WorkflowRun mine(graph, {.run_id = "w", .store = store});
  self = &mine;
  CHECK_ERRC(Errc::cancelled, mine.run(1));
  CHECK(mine.stopped().value().has_value());
  REQUIRE_OK(WorkflowRun(graph, {.run_id = "w", .store = store}).resume());
  REQUIRE_OK(mine.resume());
  CHECK_FALSE(mine.stopped().value().has_value());
}

TEST_CASE("what a restore has abandoned is not shown as done", "[workflow][inspect]") {
  const auto store = memory();
  WorkflowRun run(plain_graph(), {.run_id = "w", .store = store, .threads = 1});
  CHECK_ERRC(Errc::suspended, run.run({{"topic", "tea"}}));
  const auto before = run.checkpoints();
  REQUIRE_OK(before);
  REQUIRE_OK(run.answer("right/1/score/1", 4));
  REQUIRE_OK(run.resume());
  CHECK_ERRC(Errc::suspended, run.restore(to_string(before.value().back().id)));
  const auto family = branches(*store, "w");
  REQUIRE_OK(family);
  CHECK(family.value().front().nodes ==
        std::map<std::string, NodeStatus>{{"plan", NodeStatus::done}, {"left", NodeStatus::done}});
}

TEST_CASE("what a migration leaves behind is in the state that every process shows",
          "[workflow][resume]") {
  const auto version = [](const char* of, bool fails) {
    WorkflowBuilder builder("counts");
    builder
        .executor("a", stateless([fails](const Json&, Context& context) {
                    if (fails && context.occurrence() == 2) throw std::runtime_error("no");
                    const int n = context.state().value("n", 0) + 1;
                    context.state().set("n", n);
                    return n;
                  }),
                  {.version = of})
        .start("a")
        .edge("a", "a", when<int>([](int n) { return n == 1; }));
    return builder;
  };
  const auto store = memory();
  CHECK_FALSE(WorkflowRun(built(version("1", true)), {.run_id = "w", .store = store})
                  .run(nullptr)
                  .has_value());
  const auto two = built(version("2", false).migrate("a", "1", "2", [](ExecutorState old) {
    old.state = Json{{"n", 100}, {"new", true}};
    return old;
  }));
  WorkflowRun run(two, {.run_id = "w", .store = store});
  REQUIRE_OK(run.resume());
  const auto elsewhere = WorkflowRun(two, {.run_id = "w", .store = store}).state();
  REQUIRE_OK(elsewhere);
  CHECK(elsewhere.value() == Json{{"p|a", {{"n", 101}, {"new", true}}}});
  CHECK(run.state().value() == elsewhere.value());
}
