// SPDX-License-Identifier: MIT
// Workflows whose store fails.
#include "kit.hpp"
#include "support/flaky_store.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Writes by a thread of its own, as most stores do.
class InBackground final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  ~InBackground() override { stop_queue(); }
  StoreCapabilities capabilities() const noexcept override {
    StoreCapabilities can = ForwardingStore::capabilities();
    can.background_appends = true;
    return can;
  }
};

// A run whose executors may break its store, with what it was told.
struct Outage {
  std::shared_ptr<FlakyStore> flaky = std::make_shared<FlakyStore>(memory());
  bool background = GENERATE(true, false);
  bool observed = GENERATE(true, false);
  std::vector<std::string> called{};
  std::vector<std::string> told{};

  // It has called this executor, which breaks the store if it is named so.
  int call(const std::string& executor) {
    called.push_back(executor);
    if (executor == breaks) flaky->break_down();
    return 1;
  }
  std::string breaks = "b";

  WorkflowRunOptions options() {
    WorkflowRunOptions options{.run_id = "w", .store = flaky, .threads = 1};
    if (background) options.store = std::make_shared<InBackground>(flaky);
    if (observed) {
      options.on_event = [this](const WorkflowEvent& event) {
        if (event.kind == WorkflowEventKind::executor_completed) told.push_back(event.executor);
      };
    }
    return options;
  }
};

WorkflowBuilder chain(Outage& outage, Schedule schedule) {
  WorkflowBuilder builder("w", {.schedule = schedule});
  for (const std::string id : {"a", "b", "c", "d"}) {
    builder.executor(id, stateless([&outage, id](const int&) { return outage.call(id); }));
  }
  builder.start("a").edge("a", "b").edge("b", "c").edge("c", "d");
  return builder;
}

}  // namespace

TEST_CASE("nothing begins with a result that the store did not take, and the run ends there",
          "[workflow][durable]") {
  Outage outage;
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const Workflow workflow = built(chain(outage, schedule));
  INFO("background " << outage.background << ", observed " << outage.observed << ", eager "
                     << (schedule == Schedule::eager));
  {
    WorkflowRun run(workflow, outage.options());
    const auto lost = run.run(1);
    REQUIRE_FALSE(lost);
    CHECK(lost.error().code == Errc::io);
    CHECK_THAT(lost.error().detail, ContainsSubstring("the disk is full"));
  }
  CHECK(outage.called == std::vector<std::string>{"a", "b"});
  if (outage.observed) CHECK(outage.told == std::vector<std::string>{"a"});
  outage.flaky->repair();
  outage.breaks = "nobody";
  WorkflowRun run(workflow, outage.options());
  REQUIRE_OK(run.resume());
  CHECK(outage.called == std::vector<std::string>{"a", "b", "b", "c", "d"});
}

TEST_CASE("what waits for a thread does not begin once the store has failed",
          "[workflow][durable]") {
  Outage outage;
  outage.observed = true;
  WorkflowBuilder builder("w");
  for (const std::string id : {"a", "b", "c"}) {
    builder.executor(id, stateless([&outage, id](const int&) { return outage.call(id); }));
    builder.start(id);
  }
  WorkflowRun run(built(builder), outage.options());
  const auto lost = run.run(1);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == Errc::io);
  CHECK(outage.called == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a run of a workflow does not begin if its store fails", "[workflow][durable]") {
  Outage outage;
  outage.flaky->break_down();
  WorkflowRun run(built(chain(outage, Schedule::supersteps)), outage.options());
  const auto lost = run.run(1);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().code == Errc::io);
  CHECK(outage.called.empty());
}
