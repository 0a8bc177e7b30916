// SPDX-License-Identifier: MIT
// Workers that share a store.
#include "support/catch.hpp"
#include "support/no_threads.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/orphans.hpp"
#include "triage/stores/interchange.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/sqlite.hpp"
#include "triage/testing/flaky_store.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/triage.hpp"

#include <atomic>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Runs of agent "worker" as left by a process that dies in their first attempt, after a labelled
// checkpoint.
void leave_behind(CheckpointStore& store, int runs) {
  const auto source = MemoryStore::create();
  std::string text;
  TriageAgent agent{[&](int task, Attempt& attempt) {
                      attempt.record_step({.action = "begin"});
                      attempt.update_state({{"begun", task}});
                      REQUIRE_OK(attempt.checkpoint("begun"));
                      std::ostringstream out;
                      const std::vector<RunId> run{attempt.run_id()};
                      REQUIRE_OK(export_runs(*source, run, out));
                      text = out.str();
                      return task;
                    },
                    FailurePolicy().otherwise(escalate()),
                    {.name = "worker", .store = source}};
  for (int i = 0; i < runs; ++i) {
    REQUIRE_OK(agent.run(i, {.run_id = "run-" + std::to_string(i)}));
    std::istringstream in(text);
    REQUIRE_OK(import_runs(store, in));
  }
}

// Stops a worker that keeps looking in vain.
std::shared_ptr<testing::SimulatedClock> stopping(std::stop_source& enough, int looks) {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  clock->on_wait([&enough, left = std::make_shared<int>(looks)](TimePoint) {
    if (--*left == 0) enough.request_stop();
  });
  return clock;
}

AgentOptions worker_on(std::shared_ptr<CheckpointStore> store) {
  return {.name = "worker", .store = std::move(store)};
}

struct Thrown {};
void to_json(Json& json, const Thrown&) { json = 0; }
void from_json(const Json&, Thrown&) { throw 42; }

// A task whose conversion succeeds at each first read, and fails at each second one.
struct Fickle {};
void to_json(Json& json, const Fickle&) { json = 0; }
void from_json(const Json&, Fickle&) {
  static int reads = 0;
  if (++reads % 2 == 0) throw std::runtime_error("no longer");
}

}  // namespace

TEST_CASE("workers take up what a dead process left, each run once", "[work]") {
  const TempFolder folder;
  const auto one = SqliteStore::open(folder.file("runs.db")).value();
  const auto two = SqliteStore::open(folder.file("runs.db")).value();
  constexpr int runs = 20;
  leave_behind(*one, runs);
  std::stop_source enough;
  std::mutex mutex;
  std::multiset<int> served;
  const auto make = [&](const std::shared_ptr<CheckpointStore>& store) {
    return TriageAgent{[&](int task, Attempt& attempt) {
                         CHECK(attempt.state().value("begun", -1) == task);
                         const std::scoped_lock here(mutex);
                         served.insert(task);
                         if (served.size() == runs) enough.request_stop();
                         return task;
                       },
                       FailurePolicy().otherwise(escalate()), worker_on(store)};
  };
  const auto first = make(one);
  const auto second = make(two);
  Result<WorkDone> other = WorkDone{};
  std::thread helper(
      [&] { other = second.work(2, enough.get_token(), {.poll = std::chrono::milliseconds(1)}); });
  const auto done = first.work(2, enough.get_token(), {.poll = std::chrono::milliseconds(1)});
  helper.join();
  REQUIRE_OK(done);
  REQUIRE_OK(other);
  CHECK(done.value().finished + other.value().finished == runs);
  CHECK(std::set<int>(served.begin(), served.end()).size() == runs);
  CHECK(one->runs({.status = RunStatus::finished, .limit = 0}).value().size() == runs);
}

TEST_CASE("a worker takes up suspended runs when their time comes", "[work]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("runs.db")).value();
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  options.clock = clock;
  const TriageAgent agent{[&](int task, Attempt& attempt) {
                            attempt.sleep_for("night", std::chrono::hours(8));
                            enough.request_stop();
                            return task;
                          },
                          FailurePolicy().otherwise(escalate()), options};
  CHECK_ERRC(Errc::suspended, agent.run(7, {.run_id = "sleeps"}));
  const auto done = agent.work(1, enough.get_token(), {.poll = std::chrono::minutes(10)});
  REQUIRE_OK(done);
  CHECK(done.value().finished == 1);
  CHECK(store->run("sleeps").value().status == RunStatus::finished);
}

TEST_CASE("a run that cannot be taken up is refused once and keeps no worker from the others",
          "[work]") {
  const auto store = MemoryStore::create();
  leave_behind(*store, 3);
  std::stop_source enough;
  const auto clock = std::make_shared<testing::SimulatedClock>();
  clock->on_wait([&](TimePoint) { enough.request_stop(); });  // It has found no more work.
  AgentOptions changed = worker_on(store);
  changed.version = "2";
  changed.clock = clock;
  const auto serve = [](int task) { return task; };
  const TriageAgent agent{serve, FailurePolicy().otherwise(escalate()), changed};
  const auto done = agent.work(1, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().refused == 3);
  const auto left = store->runs({}).value();
  for (const RunInfo& run : left) {
    CHECK(run.status == RunStatus::running);
    CHECK_FALSE(run.owned);
  }
  std::stop_source again;
  clock->on_wait([&](TimePoint) { again.request_stop(); });
  const auto accepted = agent.work(1, again.get_token(), {.accept_changed = true});
  REQUIRE_OK(accepted);
  CHECK(accepted.value().finished == 3);
}

TEST_CASE("work needs a store that answers, threads and a poll", "[work]") {
  const auto serve = [](int task) { return task; };
  const auto store = MemoryStore::create();
  const auto flaky = testing::FlakyStore::around(store);
  flaky->fail_until_healed();
  const FailurePolicy policy = FailurePolicy().otherwise(escalate());
  const TriageAgent agent{serve, policy, worker_on(store)};
  CHECK_ERRC(Errc::invalid_argument, agent.work(0, {}));
  std::stop_source over;
  over.request_stop();
  for (const Duration poll :
       {Duration(0), Duration(std::chrono::milliseconds(1)) - Duration(1), Duration::max()}) {
    CHECK_ERRC(Errc::invalid_argument, agent.work(1, over.get_token(), {.poll = poll}));
  }
  CHECK_ERRC(Errc::not_found, TriageAgent(serve, policy, worker_on(nullptr)).work(1, {}));
  CHECK_ERRC(Errc::io, TriageAgent(serve, policy, worker_on(flaky)).work(3, {}));
}

TEST_CASE("a worker without work looks once a second unless it is told otherwise", "[work]") {
  const auto store = testing::FlakyStore::around(MemoryStore::create());
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  constexpr int looks = 60;
  const auto clock = stopping(enough, looks);
  options.clock = clock;
  const TriageAgent agent{[](int task) { return task; }, FailurePolicy().otherwise(escalate()),
                          options};
  REQUIRE_OK(agent.work(1, enough.get_token()));
  CHECK(clock->elapsed() == std::chrono::seconds(looks - 1));  // The last wait is stopped.
  CHECK(store->operations() <= 4 * looks);
}

TEST_CASE("a claimed run is continued, and its lease is given back", "[work]") {
  const TempFolder folder;
  const auto store = SqliteStore::open(folder.file("runs.db")).value();
  leave_behind(*store, 1);
  int served = 0;
  const TriageAgent agent{[&](int task, Attempt&) { return ++served + 10 * task; },
                          FailurePolicy().otherwise(escalate()), worker_on(store)};
  const auto claimed = claim_orphans(*store, "worker", 9);
  REQUIRE_OK(claimed);
  REQUIRE(claimed.value().size() == 1);
  CHECK(agent.resume_claimed(claimed.value()[0]).value() == 1);
  CHECK(store->run("run-0").value().status == RunStatus::finished);
  CHECK_FALSE(store->run("run-0").value().owned);
  CHECK(claim_orphans(*store, "worker", 9).value().empty());
}

TEST_CASE("a run whose store failed for a moment is taken up later", "[work]") {
  struct Hiccup final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    bool once = true;
    Result<JournalReading> read_newest(const RunId& run) override {
      if (run == "run-0" && std::exchange(once, false)) return Error{Errc::io, "no answer"};
      return ForwardingStore::read_newest(run);
    }
  };
  const auto store = MemoryStore::create();
  leave_behind(*store, 2);
  std::stop_source enough;
  AgentOptions options = worker_on(std::make_shared<Hiccup>(store));
  options.clock = stopping(enough, 3);
  std::vector<int> served;
  const TriageAgent agent{[&](int task) {
                            served.push_back(task);
                            return task;
                          },
                          FailurePolicy().otherwise(escalate()), options};
  const auto done = agent.work(1, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().finished == 2);
  CHECK(done.value().refused == 0);
  CHECK(served == std::vector<int>{1, 0});
}

TEST_CASE("a run that stays as it is keeps no worker busy", "[work]") {
  struct Counting final : ForwardingStore {
    explicit Counting(std::shared_ptr<CheckpointStore> inner, std::stop_source& stop)
        : ForwardingStore(std::move(inner)), enough(stop) {}
    std::stop_source& enough;
    std::vector<RunId> read{};
    Result<JournalReading> read_newest(const RunId& run) override {
      read.push_back(run);
      if (read.size() == 100) enough.request_stop();
      return ForwardingStore::read_newest(run);
    }
  };
  const auto inner = MemoryStore::create();
  leave_behind(*inner, 2);
  std::stop_source enough;
  const auto store = std::make_shared<Counting>(inner, enough);
  std::vector<std::vector<RunId>> looks;
  AgentOptions options = worker_on(store);
  const auto clock = std::make_shared<testing::SimulatedClock>();
  clock->on_wait([&](TimePoint) {
    looks.push_back(std::exchange(store->read, {}));
    if (looks.size() == 5) enough.request_stop();
  });
  options.clock = clock;
  const TriageAgent agent{[](const Fickle&) { return 1; }, FailurePolicy().otherwise(escalate()),
                          options};
  const auto done = agent.work(1, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().finished == 0);
  const std::vector<RunId> each_once{"run-0", "run-1"};
  CHECK(looks == std::vector<std::vector<RunId>>{each_once, each_once, each_once, {}, {}});
}

TEST_CASE("many runs that are due are listed together", "[work]") {
  struct Durable final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Durable() override { stop_queue(); }
    std::atomic<int> listed{0};
    StoreCapabilities capabilities() const noexcept override {
      return {.durability = Durability::process};
    }
    Result<std::vector<RunInfo>> runs(const RunQuery& query) override {
      if (query.status == RunStatus::suspended) ++listed;
      return ForwardingStore::runs(query);
    }
  };
  const auto store = std::make_shared<Durable>(MemoryStore::create());
  const auto clock = std::make_shared<testing::SimulatedClock>();
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  options.clock = clock;
  options.write_mode = WriteMode::deferred;
  constexpr int runs = 40;
  int served = 0;
  const TriageAgent agent{[&](int task, Attempt& attempt) {
                            attempt.sleep_for("night", std::chrono::hours(8));
                            if (++served == runs) enough.request_stop();
                            return task;
                          },
                          FailurePolicy().otherwise(escalate()), options};
  for (int i = 0; i < runs; ++i) CHECK_ERRC(Errc::suspended, agent.run(i));
  clock->advance(std::chrono::hours(9));
  const auto done = agent.work(1, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().finished == runs);
  CHECK(store->listed <= 2);
}

TEST_CASE("a worker on a machine without free threads works with the one it has", "[work]") {
  const auto store = MemoryStore::create();
  leave_behind(*store, 3);
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  options.clock = stopping(enough, 1);
  const TriageAgent agent{[](int task) { return task; }, FailurePolicy().otherwise(escalate()),
                          options};
  const NoMoreThreads none;
  const auto done = agent.work(4, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().finished == 3);
}

TEST_CASE("a lease that a claim could not give back is given back later", "[work]") {
  // Its runs end as soon as they are acquired; it fails to release one once.
  struct Slow final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    bool fails = true;
    bool held = false;
    Result<RunInfo> run(const RunId& id) override {
      auto info = ForwardingStore::run(id);
      if (info) info.value().status = RunStatus::suspended;
      return info;
    }
    Result<Lease> acquire(const RunId& run) override {
      if (held) return Error{Errc::busy, "somebody holds it"};
      held = true;
      return ForwardingStore::acquire(run);
    }
    Result<void> release(const Lease& lease) override {
      if (std::exchange(fails, false)) return Error{Errc::io, "no answer"};
      held = false;
      return ForwardingStore::release(lease);
    }
  };
  const auto inner = MemoryStore::create();
  leave_behind(*inner, 1);
  Slow store(inner);
  CHECK(claim_orphans(store, "worker", 1).value().empty());
  CHECK(claim_orphans(store, "worker", 1).value().empty());
  CHECK_FALSE(store.held);
}

TEST_CASE("a task that cannot be converted does not end the process of a worker", "[work]") {
  const auto store = MemoryStore::create();
  leave_behind(*store, 3);
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  options.clock = stopping(enough, 20);
  const TriageAgent agent{[](const Thrown&) { return 1; }, FailurePolicy().otherwise(escalate()),
                          options};
  const auto done = agent.work(2, enough.get_token(), {.poll = std::chrono::milliseconds(1)});
  REQUIRE_OK(done);
  CHECK(done.value().refused == 3);
  CHECK(store->runs({.status = RunStatus::running, .limit = 0}).value().size() == 3);
}

TEST_CASE("runs that a worker may not continue are looked at about once each", "[work]") {
  struct Counting final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    int acquired = 0;
    Result<Lease> acquire(const RunId& run) override {
      ++acquired;
      return ForwardingStore::acquire(run);
    }
  };
  const auto store = std::make_shared<Counting>(MemoryStore::create());
  constexpr int runs = 30;
  leave_behind(*store, runs);
  store->acquired = 0;
  std::stop_source enough;
  AgentOptions options = worker_on(store);
  options.version = "2";
  options.clock = stopping(enough, 2);
  const TriageAgent changed{[](int task, Attempt&) { return task; },
                            FailurePolicy().otherwise(escalate()), options};
  const auto done = changed.work(1, enough.get_token());
  REQUIRE_OK(done);
  CHECK(done.value().refused == runs);
  CHECK(store->acquired <= 3 * runs);
}
