// SPDX-License-Identifier: MIT
// Which checkpoints remain while a run writes.
#include "kit.hpp"
#include "triage/workflow/inspect.hpp"

#include <stdexcept>
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

std::vector<CheckpointInfo> checkpoints(const WorkflowRun& run) {
  const auto all = run.checkpoints();
  REQUIRE_OK(all);
  return all.value();
}

}  // namespace

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
  CHECK(late[0].label == "triage/run_started");
  CHECK(late[1].label == "fifty");
  CHECK(store->checkpoints("w").value().size() < 100);  // Of 203.

  // A removed checkpoint, with its version of the memory, is reported; the others are unchanged.
  const auto gone = run.restore(to_string(early[1].id));
  CHECK_ERRC(Errc::not_found, gone);
  CHECK_THAT(gone.error().detail, ContainsSubstring(to_string(early[1].id)));
  for (const CheckpointInfo& one : late) {
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
