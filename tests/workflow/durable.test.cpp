// SPDX-License-Identifier: MIT
// When finished work reaches the store, and in how many pieces.
#include "kit.hpp"
#include "support/no_threads.hpp"
#include "support/temp_folder.hpp"
#include "support/wait_until.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/stores/sqlite.hpp"

#include <atomic>
#include <stop_token>

using namespace triage;
using namespace triage::workflow;
using namespace triage::test;

namespace {

// Counts appends, and the records in them.
class CountingStore final : public ForwardingStore {
 public:
  CountingStore(std::shared_ptr<CheckpointStore> inner, bool background)
      : ForwardingStore(std::move(inner)), background_(background) {}
  ~CountingStore() override { stop_queue(); }
  [[nodiscard]] StoreCapabilities capabilities() const noexcept override {
    StoreCapabilities can = ForwardingStore::capabilities();
    can.background_appends = can.background_appends && background_;
    return can;
  }
  void append_group(std::span<AppendBatch> batches) override {
    for (const AppendBatch& batch : batches) records_ += batch.records.size();
    ++appends_;
    inner().append_group(batches);
  }
  [[nodiscard]] std::size_t appends() const { return appends_; }
  [[nodiscard]] std::size_t records() const { return records_; }

 private:
  const bool background_;
  std::atomic<std::size_t> appends_{0};
  std::atomic<std::size_t> records_{0};
};

bool is_stored(CheckpointStore& store, const std::string& executor) {
  const auto latest = store.latest("w");
  return latest && latest.value().state.contains("triage/done/" + executor + "/1");
}

}  // namespace

TEST_CASE("what has finished is stored while a slow sibling is still at work",
          "[workflow][durable]") {
  const std::size_t threads = GENERATE(1U, 2U);
  const bool background = GENERATE(true, false);
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const TempFolder folder;
  const std::string file = folder.file("w.db");
  auto opened = SqliteStore::open(file);
  REQUIRE_OK(opened);
  const auto store = std::make_shared<CountingStore>(opened.value(), background);
  auto looking = SqliteStore::open(file);
  REQUIRE_OK(looking);
  bool seen = false;
  WorkflowBuilder builder("w", {.schedule = schedule});
  builder.executor("fast", [](const int& n) { return n; })
      .executor("slow", stateless([&](const int& n) {
                  seen = wait_until([&] { return is_stored(*looking.value(), "fast"); });
                  return n;
                }))
      .start("fast")
      .start("slow");
  WorkflowRun run(built(builder), {.run_id = "w", .store = store, .threads = threads});
  INFO("threads " << threads << ", background " << background);
  REQUIRE_OK(run.run(1));
  CHECK(seen);
}

TEST_CASE("nothing begins with a result that is not stored yet", "[workflow][durable]") {
  struct Background final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Background() override { stop_queue(); }
    StoreCapabilities capabilities() const noexcept override {
      StoreCapabilities can = ForwardingStore::capabilities();
      can.background_appends = true;
      return can;
    }
  };
  const Schedule schedule = GENERATE(Schedule::supersteps, Schedule::eager);
  const CheckpointTrigger trigger = CheckpointTrigger::terminate_signal;  // Nothing else drains.
  const auto store = std::make_shared<Background>(memory());
  int missing = 0;
  const auto look = [&](const char* before) {
    return stateless([&missing, &store, before](const Json&) {
      if (!is_stored(*store, before)) ++missing;
      return 1;
    });
  };
  WorkflowBuilder builder("w", {.schedule = schedule});
  builder.executor("a", [](const int& n) { return n; })
      .executor("b", [](const int& n) { return n; })
      .executor("c", look("a"))
      .executor("d", look("b"))
      .executor("e", look("c"))
      .start("a")
      .start("b")
      .edge("a", "c")
      .edge("b", "d")
      .edge("c", "e");
  WorkflowRun run(built(builder),
                  {.run_id = "w", .store = store, .checkpoints = CheckpointPolicy{.on = trigger}});
  const NoMoreThreads none;  // Only what is waited for gets stored.
  REQUIRE_OK(run.run(1));
  CHECK(missing == 0);
}

TEST_CASE("what a watcher is told of is stored", "[workflow][durable]") {
  const TempFolder folder;
  const std::string file = folder.file("w.db");
  auto store = SqliteStore::open(file);
  REQUIRE_OK(store);
  auto looking = SqliteStore::open(file);
  REQUIRE_OK(looking);
  std::atomic<int> told{0};
  std::atomic<int> missing{0};
  WorkflowBuilder builder("w");
  for (int i = 0; i < 20; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder.executor(id, [](const int& n) { return n; }).start(id);
  }
  const auto watch = [&](const WorkflowEvent& event) {
    if (event.kind != WorkflowEventKind::executor_completed) return;
    ++told;
    if (!is_stored(*looking.value(), event.executor)) ++missing;
  };
  WorkflowRun run(built(builder),
                  {.run_id = "w", .store = store.value(), .threads = 2, .on_event = watch});
  REQUIRE_OK(run.run(1));
  CHECK(told == 20);
  CHECK(missing == 0);
}

TEST_CASE("what finishes together is stored together", "[workflow][durable]") {
  constexpr std::size_t width = 200;
  const std::size_t threads = GENERATE(1U, 4U);
  const auto store = std::make_shared<CountingStore>(memory(), true);
  WorkflowBuilder builder("w");
  builder.executor("start", [](const int& n) { return n; }).start("start");
  std::vector<std::string> all;
  for (std::size_t i = 0; i < width; ++i) {
    all.push_back("n" + std::to_string(i));
    builder.executor(all.back(), [](const int& n) { return n; });
  }
  builder.executor("end", [](const std::vector<int>& got) { return got.size(); });
  WorkflowRun run(built(builder.fan_out("start", all).fan_in(all, "end")),
                  {.run_id = "w", .store = store, .threads = threads});
  const auto done = run.run(1);
  REQUIRE_OK(done);
  CHECK(done.value().value() == width);
  CHECK(store->records() > width);
  CHECK(store->appends() < 12);
}

TEST_CASE("a run that is stopped begins nothing more of what was in line", "[workflow][durable]") {
  std::stop_source stop;
  WorkflowBuilder builder("w");
  for (int i = 0; i < 50; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder
        .executor(id, stateless([&](const int& n) {
                    stop.request_stop();
                    return n;
                  }))
        .start(id);
  }
  const auto store = memory();
  const auto graph = built(builder);
  WorkflowRun run(graph,
                  {.run_id = "w", .store = store, .threads = 2, .stop_token = stop.get_token()});
  CHECK_ERRC(Errc::cancelled, run.run(1));
  const std::size_t before = run.handler_calls();
  CHECK(before <= 2);
  WorkflowRun rest(graph, {.run_id = "w", .store = store});
  const auto done = rest.resume();
  REQUIRE_OK(done);
  CHECK(done.value().outputs.size() == 50);
  CHECK(before + rest.handler_calls() == 50);
}

TEST_CASE("a checkpoint before a task costs no write of its own, unless somebody watches",
          "[workflow][durable]") {
  constexpr std::size_t length = 10;
  WorkflowBuilder builder("w");
  for (std::size_t i = 0; i < length; ++i) {
    const std::string id = "n" + std::to_string(i);
    builder.executor(id, [](const int& n) { return n; });
    if (i == 0) builder.start(id);
    if (i > 0) builder.edge("n" + std::to_string(i - 1), id);
  }
  const auto graph = built(builder);
  std::size_t missing = 0;
  const auto appends = [&](CheckpointTriggers on, bool watched) {
    const auto store = std::make_shared<CountingStore>(memory(), false);
    WorkflowRunOptions options{
        .run_id = "w", .store = store, .threads = 1, .checkpoints = CheckpointPolicy{.on = on}};
    if (watched) {
      options.on_event = [&](const WorkflowEvent& event) {
        if (event.kind != WorkflowEventKind::checkpoint_saved) return;
        if (!store->load_state(event.checkpoint->id)) ++missing;
      };
    }
    WorkflowRun run(graph, options);
    REQUIRE_OK(run.run(1));
    const auto made = run.checkpoints();
    REQUIRE_OK(made);
    // The first one is where the entry is.
    CHECK(made.value().size() == (on == CheckpointTriggers::none() ? 1 : length));
    return store->appends();
  };
  const CheckpointTriggers before_tasks(CheckpointTrigger::task_started);
  CHECK(appends(before_tasks, false) == appends(CheckpointTriggers::none(), false));
  CHECK(appends(before_tasks, true) > appends(before_tasks, false));
  CHECK(missing == 0);
}
