// SPDX-License-Identifier: MIT
// Which checkpoints remain while a run writes.
#include "kit.hpp"
#include "support/temp_folder.hpp"
#include "triage/compaction.hpp"
#include "triage/stores/json_file.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/workflow/inspect.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int rounds = 200;

// Loops, remembers the round, asks in the tenth and names the fiftieth.
struct Rounds {
  WorkflowRun* self = nullptr;
  Workflow workflow = built(WorkflowBuilder("w", {.max_supersteps = 1'000})
                                .port<bool>("go_on")
                                .executor("a", stateless([this](const int& n, Context& context) {
                                            if (n == 10)
                                              static_cast<void>(context.request<bool>("go_on", n));
                                            context.memory("a").set("turn", n);
                                            if (n == 50 && !self->checkpoint("fifty")) {
                                              throw std::runtime_error("no checkpoint");
                                            }
                                            return n + 1;
                                          }))
                                .start("a")
                                .edge("a", "a", when<int>([](int n) { return n < rounds; })));
};

std::vector<WorkflowCheckpoint> checkpoints(const WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  return all.value();
}

// How many automatic checkpoints, and positions without a label, the store has.
std::size_t count_stored(CheckpointStore& store, const RunId& run) {
  const auto all = store.checkpoints(run);
  REQUIRE_OK(all);
  return static_cast<std::size_t>(
      std::count_if(all.value().begin(), all.value().end(), [](const CheckpointInfo& one) {
        return one.label.empty() &&
               (one.trigger.empty() || one.trigger.starts_with("task_completed/"));
      }));
}

constexpr std::size_t most_kept = 5;

// Continued three times; looks at the beginning of each delivery how many there are.
void run_bounded(const std::shared_ptr<CheckpointStore>& store, std::size_t allowed) {
  std::vector<std::string> ids;
  bool works = false;
  bool tires = true;
  std::size_t highest = 0;
  const auto graph = built(WorkflowBuilder("w", {.max_supersteps = 1'000})
                               .executor("a", stateless([&](const int& n, Context& context) {
                                           highest = std::max(highest, count_stored(*store, "w"));
                                           if (n % 20 == 0 && tires && !works)
                                             throw std::runtime_error("tired");
                                           works = false;
                                           context.shared().set("n", n);
                                           return n + 1;
                                         }))
                               .start("a")
                               .edge("a", "a", when<int>([](int n) { return n < 70; })));
  const auto next = [&] {
    WorkflowRun run(graph, {.run_id = "w",
                            .store = store,
                            .on_event =
                                [&](const WorkflowEvent& event) {
                                  const auto& made = event.checkpoint;
                                  if (!made || made->trigger == "run_started") return;
                                  ids.push_back(to_string(event.checkpoint->id));
                                },
                            .checkpoints = CheckpointPolicy{.on = CheckpointTrigger::task_completed,
                                                            .max_checkpoints = most_kept}});
    auto done = run.start_or_resume(1);
    const auto listed = run.checkpoints();
    REQUIRE_OK(listed);
    CHECK(listed.value().size() == most_kept + 1);
    works = true;
    return done;
  };
  auto done = next();
  // What a run was continued from stays, too.
  for (int go = 1; !done && go < 10; ++go, ++allowed) done = next();
  REQUIRE_OK(done);
  CHECK(highest <= allowed);
  CHECK(count_stored(*store, "w") <= allowed);
  // Each that is there is whole, all others are gone.
  std::size_t there = 0;
  tires = false;
  for (const std::string& id : ids) {
    const auto view = inspect(*store, id);
    if (!view) CHECK_ERRC(Errc::not_found, view);
    if (view) {
      ++there;
      const auto& finished = view.value().deliveries;
      REQUIRE_FALSE(finished.empty());
      WorkflowRun branch(graph, {.store = store});
      const auto rest = branch.fork(id, {});
      REQUIRE_OK(rest);
      CHECK(branch.handler_calls() == 69 - finished.size());
    }
  }
  CHECK(there <= allowed);
  CHECK(there >= most_kept);
}

}  // namespace

TEST_CASE("a run never has more automatic checkpoints than it may, but those it was continued from",
          "[workflow][retention]") {
  SECTION("in memory") { run_bounded(memory(), most_kept); }
  SECTION("in SQLite") {
    const TempFolder folder;
    const auto store = SqliteStore::open(folder.file("w.db"));
    REQUIRE_OK(store);
    run_bounded(store.value(), most_kept);
  }
  SECTION("in files, which are written as a whole") {
    const TempFolder folder;
    const auto store = JsonFileStore::open(folder.file("runs"));
    REQUIRE_OK(store);
    run_bounded(store.value(), most_kept + 16);
  }
}

TEST_CASE("a checkpoint that the run was restored to stays, however many follow",
          "[workflow][retention]") {
  const auto store = memory();
  bool tired = true;
  const auto graph = built(WorkflowBuilder("w")
                               .executor("a", stateless([&](const int& n) {
                                           if (n == 20 && std::exchange(tired, false))
                                             throw std::runtime_error("tired");
                                           return n + 1;
                                         }))
                               .start("a")
                               .edge("a", "a", when<int>([](int n) { return n < 60; })));
  const WorkflowRunOptions options{
      .run_id = "w",
      .store = store,
      .checkpoints =
          CheckpointPolicy{.on = CheckpointTrigger::task_completed, .max_checkpoints = most_kept}};
  WorkflowRun run(graph, options);
  CHECK_ERRC(Errc::escalated, run.run(1));
  const auto before = run.checkpoints();
  REQUIRE_OK(before);
  const std::string target = to_string(before.value()[2].id);
  REQUIRE_OK(run.restore(target));
  CHECK(inspect(*store, target));
  WorkflowRun later(graph, options);
  REQUIRE_OK(later.resume());
  CHECK(later.handler_calls() == 0);
}

TEST_CASE("checkpoints beyond their number go while the run writes; a branch keeps what it needs",
          "[workflow][retention]") {
  Rounds graph;
  const auto store = memory();
  const auto options = [&](const RunId& id) {
    return WorkflowRunOptions{.run_id = id,
                              .store = store,
                              .checkpoints = CheckpointPolicy{
                                  .on = CheckpointTrigger::task_completed, .max_checkpoints = 5}};
  };
  WorkflowRun run(graph.workflow, options("w"));
  graph.self = &run;
  CHECK_ERRC(Errc::suspended, run.run(1));
  const auto early = checkpoints(run);
  REQUIRE(early.size() == 6);
  auto branch = rehydrate(graph.workflow, to_string(early[1].id), store, options("branch"));
  REQUIRE_OK(branch);
  CHECK_ERRC(Errc::suspended, branch.value().resume());

  REQUIRE_OK(run.answer("a/10/go_on/1", true));
  REQUIRE_OK(run.resume());
  const auto late = checkpoints(run);
  REQUIRE(late.size() == 7);
  CHECK(late[0].trigger == "run_started");
  CHECK(late[1].label == "fifty");
  CHECK(late.back().trigger == "task_completed/a/199");

  // A removed checkpoint, with its version of the memory, is reported; the others are unchanged.
  const auto gone = run.restore(to_string(early[1].id));
  CHECK_ERRC(Errc::not_found, gone);
  CHECK_THAT(gone.error().detail, ContainsSubstring(to_string(early[1].id)));
  for (const WorkflowCheckpoint& one : late) {
    const auto view = inspect(*store, to_string(one.id));
    REQUIRE_OK(view);
    const std::size_t finished = view.value().deliveries.size();
    if (finished < 10) continue;
    const RunId id = "from" + std::to_string(one.id.sequence);
    WorkflowRun again(graph.workflow, options(id));
    graph.self = &again;
    REQUIRE_OK(again.fork(to_string(one.id), {.label = id}));
    CHECK(again.handler_calls() == rounds - 1 - finished);
  }
  graph.self = &branch.value();
  REQUIRE_OK(branch.value().answer("a/10/go_on/1", true));
  REQUIRE_OK(branch.value().resume());
}
