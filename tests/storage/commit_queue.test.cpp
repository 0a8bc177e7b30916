// SPDX-License-Identifier: MIT
#include "storage/commit_queue.hpp"

#include "support/flaky_store.hpp"
#include "support/result.hpp"
#include "triage/forwarding_store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <thread>

using namespace triage;
using namespace triage::test;
using detail::RunWriter;

namespace {

// A run in the store, and its share of the queue.
struct Writer {
  Writer(CheckpointStore& store, const RunId& run) : store_(store) {
    writer.mutex = &mutex;
    RunInfo info;
    info.id = run;
    writer.lease = store.start(info, {}).value();
  }
  ~Writer() { store_.queue().remove(writer); }
  void record() {
    const std::scoped_lock lock(mutex);
    store_.queue().enqueue(
        writer, Record(++seq, RecordKind::usage, {}, std::make_shared<const Json>(Json::object())));
  }
  std::mutex mutex{};
  RunWriter writer{};
  Sequence seq = 0;

 private:
  CheckpointStore& store_;
};

// Delays the first group of appends, and counts the batches of each.
struct SlowStore final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  void append_group(std::span<AppendBatch> batches) override {
    groups.push_back(batches.size());
    if (groups.size() == 1) {
      begun.count_down();
      go_on.wait();
    }
    ForwardingStore::append_group(batches);
  }
  std::vector<std::size_t> groups{};
  std::latch begun{1};
  std::latch go_on{1};
};

}  // namespace

TEST_CASE("a drain makes durable what was enqueued, and one without news does nothing", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory);
  Writer run(store, "r");
  const int before = store.operations();
  REQUIRE_OK(store.queue().drain(run.writer));
  CHECK(store.operations() == before);
  for (int i = 0; i < 10; ++i) run.record();
  CHECK(memory->run("r").value().last == 0);
  REQUIRE_OK(store.queue().drain(run.writer));
  CHECK(store.operations() == before + 1);  // One append for all ten.
  CHECK(memory->run("r").value().last == 10);
  CHECK(run.writer.durable == 10);
}

TEST_CASE("whoever drains writes for all runs of the store", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, Durability::process);
  Writer a(store, "a");
  Writer b(store, "b");
  a.writer.background = true;
  b.writer.background = true;
  for (int i = 0; i < 5; ++i) {
    a.record();
    b.record();
  }
  REQUIRE_OK(store.queue().drain(a.writer));
  REQUIRE_OK(store.queue().drain(b.writer));
  CHECK(memory->run("a").value().last == 5);
  CHECK(memory->run("b").value().last == 5);
}

TEST_CASE("runs that wait together for a commit are committed together", "[queue]") {
  const auto memory = MemoryStore::create();
  SlowStore store(std::make_shared<FlakyStore>(memory, Durability::process));
  std::vector<std::unique_ptr<Writer>> writers;
  for (int r = 0; r < 6; ++r) {
    writers.push_back(std::make_unique<Writer>(store, "r" + std::to_string(r)));
    writers.back()->record();
  }
  std::vector<std::thread> threads;
  for (auto& writer : writers) {
    threads.emplace_back([&store, &run = *writer] {
      if (!store.queue().drain(run.writer)) std::terminate();
    });
    if (threads.size() == 1) store.begun.wait();
  }
  for (std::size_t r = 1; r < writers.size(); ++r) {
    const auto waits = [&run = *writers[r]] {
      const std::scoped_lock lock(run.mutex);
      return run.writer.listed;
    };
    for (int i = 0; i < 10'000'000 && !waits(); ++i) std::this_thread::yield();
  }
  store.go_on.count_down();
  for (std::thread& thread : threads) thread.join();
  CHECK(store.groups == std::vector<std::size_t>{1, 5});
  for (const auto& writer : writers) CHECK(writer->writer.durable == 1);
}

TEST_CASE("a failed commit keeps its records in order, and the next drain writes them", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory);
  Writer run(store, "r");
  const auto fault = GENERATE(FlakyStore::Fault::refuses, FlakyStore::Fault::throws,
                              FlakyStore::Fault::forgets_to_answer);
  run.record();
  store.break_down(fault);
  CHECK_ERRC(Errc::io, store.queue().drain(run.writer));
  run.record();
  CHECK_ERRC(Errc::io, store.queue().drain(run.writer));
  CHECK(run.writer.pending.size() == 2);
  store.repair();
  run.record();
  REQUIRE_OK(store.queue().drain(run.writer));
  CHECK(run.writer.pending.empty());
  CHECK_FALSE(run.writer.failure.has_value());
  const JournalReading reading = memory->read("r", {}).value();
  REQUIRE(reading.records.size() == 3);
  for (Sequence seq = 1; seq <= 3; ++seq) CHECK(reading.records[seq - 1].seq() == seq);
}

TEST_CASE("records that come while a commit fails stay behind those of the commit", "[queue]") {
  // Fails while another record is being enqueued.
  struct Busy final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    ~Busy() override { stop_queue(); }
    void append_group(std::span<AppendBatch> batches) override {
      if (!during) return ForwardingStore::append_group(batches);
      during();
      for (AppendBatch& batch : batches) batch.outcome = Error{Errc::io, "the disk is full"};
    }
    std::function<void()> during{};
  };
  const auto memory = MemoryStore::create();
  Busy store(memory);
  Writer run(store, "r");
  run.record();
  run.record();
  store.during = [&] { run.record(); };
  CHECK_ERRC(Errc::io, store.queue().drain(run.writer));
  store.during = {};
  REQUIRE_OK(store.queue().drain(run.writer));
  const JournalReading reading = memory->read("r", {}).value();
  REQUIRE(reading.records.size() == 3);
  for (Sequence seq = 1; seq <= 3; ++seq) CHECK(reading.records[seq - 1].seq() == seq);
}

TEST_CASE("many threads and runs: everything arrives, in order, once", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, GENERATE(Durability::none, Durability::process));
  std::vector<std::unique_ptr<Writer>> writers;
  for (int r = 0; r < 6; ++r) {
    writers.push_back(std::make_unique<Writer>(store, "r" + std::to_string(r)));
    writers.back()->writer.background = r % 2 == 0;
  }
  std::vector<std::thread> threads;
  for (auto& writer : writers) {
    threads.emplace_back([&store, &run = *writer] {
      for (int i = 1; i <= 300; ++i) {
        run.record();
        if (i % 7 == 0 && !store.queue().drain(run.writer)) std::terminate();
      }
      if (!store.queue().drain(run.writer)) std::terminate();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int r = 0; r < 6; ++r) {
    const JournalReading reading = memory->read("r" + std::to_string(r), {}).value();
    REQUIRE(reading.records.size() == 300);
    for (Sequence seq = 1; seq <= 300; ++seq) CHECK(reading.records[seq - 1].seq() == seq);
  }
}

TEST_CASE("a run that was removed is not touched any more", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, Durability::process);
  Writer stays(store, "stays");
  {
    Writer goes(store, "goes");
    goes.record();
  }
  stays.record();
  REQUIRE_OK(store.queue().drain(stays.writer));
  CHECK(memory->run("goes").value().last == 0);
}

TEST_CASE("a child made by fork() gets an error and does not hang", "[queue]") {
  const auto memory = MemoryStore::create();
  FlakyStore store(memory, Durability::process);
  Writer run(store, "r");
  run.writer.background = true;
  run.record();
  REQUIRE_OK(store.queue().drain(run.writer));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    run.record();
    const auto drained = store.queue().drain(run.writer);
    const bool refused = drained.has_error() && drained.error().code == Errc::unsupported;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
