// SPDX-License-Identifier: MIT
// Memory runs out while records are made, kept and stored: nothing is acknowledged that is not
// stored, and nothing is stored behind a hole.
#include "storage/commit_queue.hpp"
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/result.hpp"
#include "support/scarce_memory.hpp"

#include <new>

using namespace triage;
using namespace triage::test;

namespace {

// A run in the store, and its share of the queue.
struct Writer {
  explicit Writer(CheckpointStore& store) : store_(store) {
    writer.mutex = &mutex;
    writer.lease = store.start({.id = "r"}, {}).value();
    for (Sequence seq = 1; seq <= 5; ++seq) {
      records.emplace_back(seq, RecordKind::usage, WallTime(),
                           std::make_shared<const Json>(Json::object()));
    }
  }
  ~Writer() { store_.queue().remove(writer); }
  void record(Sequence seq) {
    const std::scoped_lock lock(mutex);
    store_.queue().enqueue(writer, records.at(seq - 1));
  }
  std::mutex mutex{};
  detail::RunWriter writer{};
  std::vector<Record> records{};

 private:
  CheckpointStore& store_;
};

// Calls `attempt(allocations)` with more and more memory, until it suffices.
template <class Attempt>
void with_more_and_more(const Attempt& attempt) {
  int allocations = 0;
  do {
    INFO(allocations << " allocations succeed");
    attempt(allocations++);
    REQUIRE(allocations < 10'000);
  } while (ScarceMemory::ran_out());
}

}  // namespace

TEST_CASE("a drain that runs out of memory fails, and the next one stores everything", "[queue]") {
  const bool one = GENERATE(true, false);
  const auto durability = GENERATE(Durability::none, Durability::process);
  with_more_and_more([&](int allocations) {
    const auto memory = MemoryStore::create();
    FlakyStore store(memory, durability);
    Writer run(store);
    for (Sequence seq = 1; seq <= 3; ++seq) run.record(seq);
    REQUIRE_OK(store.queue().drain(run.writer));
    run.record(4);
    run.record(5);
    bool stored = false;
    {
      const ScarceMemory scarce(allocations, one);
      stored = store.queue().drain(run.writer).has_value();
    }
    if (stored) CHECK(memory->run("r").value().last == 5);
    REQUIRE_OK(store.queue().drain(run.writer));
    CHECK(memory->read("r", {}).value().records.size() == 5);
  });
}

TEST_CASE("a record for which there was no memory is not passed over in silence", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, Durability::process);
  Writer run(store);
  run.record(1);
  {
    const ScarceMemory scarce(0, false);
    CHECK_THROWS_AS(run.record(2), std::bad_alloc);
  }
  run.record(3);
  CHECK_ERRC(Errc::io, store.queue().drain(run.writer));
  CHECK(memory->run("r").value().last <= 1);
}

TEST_CASE("what follows a record that was made and never handed over is not stored", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, Durability::process);
  Writer run(store);
  run.record(1);
  REQUIRE_OK(store.queue().drain(run.writer));
  run.record(3);
  CHECK_ERRC(Errc::io, store.queue().drain(run.writer));
  CHECK(memory->run("r").value().last == 1);
}

TEST_CASE("an append to the memory store stores all or none", "[stores]") {
  std::vector<Record> records;
  for (Sequence seq = 1; seq <= 100; ++seq) {
    records.emplace_back(seq, RecordKind::usage, WallTime(),
                         std::make_shared<const Json>(Json::object()));
  }
  with_more_and_more([&](int allocations) {
    const auto memory = MemoryStore::create();
    const Lease lease = memory->start({.id = "r"}, {}).value();
    bool stored = false;
    try {
      const ScarceMemory scarce(allocations, false);
      stored = memory->append(lease, records, RunStatus::running).has_value();
    } catch (const std::bad_alloc&) {}
    CHECK(memory->read("r", {}).value().records.size() == (stored ? records.size() : 0));
  });
}

// Only steps without JSON: nlohmann's destructor allocates, and ends the process if it cannot.
TEST_CASE("what is recorded after memory ran out is stored behind a gap, not behind a hole",
          "[journal]") {
  const bool one = GENERATE(true, false);
  const auto mode = GENERATE(WriteMode::deferred, WriteMode::immediate);
  with_more_and_more([&](int allocations) {
    Kit kit;
    AgentOptions options = kit.options();
    options.observer = nullptr;
    options.write_mode = mode;
    options.on_store_error = OnStoreError::degrade;
    const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                              attempt.record_step({.action = "before"});
                              const Step step{.action = "scarce"};
                              try {
                                const ScarceMemory scarce(allocations, one);
                                attempt.record_step(step);
                              } catch (const std::bad_alloc&) {}
                              attempt.update_state({{"after", true}});
                              attempt.record_step({.action = "after"});
                              return attempt.trajectory().size();
                            },
                            FailurePolicy(), options};
    const auto result = agent.run("x", {.run_id = "r"});
    if (!result)
      return;  // The end of a run with an id is stored, or the error says that it is not.
    const Journal stored = stored_journal(*kit.store, "r");
    CHECK_FALSE(stored.broken_at());
    CHECK(stored.state().contains("after"));
    if (stored.gaps().empty()) CHECK(stored.trajectory().size() == result.value());
  });
}
