// SPDX-License-Identifier: MIT
// Stores and machines that fail at awkward moments.
#include "support/flaky_store.hpp"
#include "support/kit.hpp"
#include "support/no_threads.hpp"
#include "support/result.hpp"
#include "triage/testing/flaky_store.hpp"

#include <thread>

using namespace triage;
using namespace triage::test;

namespace {

// Fails while told to; calls `inside` once, in the middle of an append that works.
struct Outage final : ForwardingStore {
  using ForwardingStore::ForwardingStore;
  ~Outage() override { stop_queue(); }
  Result<void> append(const Lease& lease, std::span<const Record> records,
                      RunStatus status) override {
    if (fails) return Error{Errc::io, "the server does not answer"};
    if (inside) std::exchange(inside, {})();
    return ForwardingStore::append(lease, records, status);
  }
  void append_group(std::span<AppendBatch> batches) override {
    CheckpointStore::append_group(batches);
  }
  std::atomic<bool> fails{false};
  std::function<void()> inside{};
};

// Until something has happened, on another thread. Fails after half a minute.
template <class Happened>
void await(const Happened& happened) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!happened()) {
    if (std::chrono::steady_clock::now() > latest) FAIL("it has not happened");
    std::this_thread::yield();
  }
}

// Says which thread was the last to ask for the time of a record.
struct TellingClock final : Clock {
  TimePoint now() override { return TimePoint(std::chrono::hours(1)); }
  WallTime wall_now() override {
    last = std::this_thread::get_id();
    return WallTime(std::chrono::milliseconds(1'700'000'000'000));
  }
  bool sleep_until(TimePoint, std::stop_token) override { return true; }
  // Until the thread has asked.
  void await(const std::thread& thread) const {
    while (last != thread.get_id()) std::this_thread::yield();
  }

  std::atomic<std::thread::id> last{};
};

}  // namespace

TEST_CASE("an effect does not run if its intent was given up while it waited to be stored",
          "[store_failure]") {
  Kit kit;
  const auto store = std::make_shared<Outage>(kit.store);
  const auto clock = std::make_shared<TellingClock>();
  AgentOptions options = kit.with(store);
  options.clock = clock;
  options.queue_capacity = 1;
  std::atomic<int> paid = 0;
  const auto pay = [&paid] { return ++paid; };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            store->fails = true;
                            attempt.record_step({.action = "begin"});
                            CHECK_ERRC(Errc::io, attempt.checkpoint("one"));
                            store->fails = false;
                            Result<int> paying = Error{Errc::not_found, "not called"};
                            std::thread other, third;
                            store->inside = [&] {
                              other = std::thread([&] { paying = attempt.try_effect("pay", pay); });
                              clock->await(other);  // It records its intent now.
                              third = std::thread([&] { attempt.record_step({.action = "s"}); });
                              clock->await(third);  // For which there was no room any more.
                            };
                            static_cast<void>(attempt.checkpoint("two"));
                            other.join();
                            third.join();
                            CHECK_ERRC(Errc::io, paying);
                            CHECK(paid == 0);
                            return attempt.effect("pay", pay);
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(*stored_journal(*kit.store, "r").effect("pay").result == 1);
}

TEST_CASE("a run that lost its lease goes on recording with the smallest queue",
          "[store_failure]") {
  Kit kit;
  AgentOptions options = kit.options();
  options.queue_capacity = 1;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            REQUIRE_OK(kit.store->release({.run = "r", .epoch = 1}));
                            REQUIRE_OK(kit.store->acquire("r"));  // Another owner.
                            for (int i = 0; i < 50; ++i) attempt.record_step({.action = "lost"});
                            return static_cast<int>(attempt.trajectory().size());
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK_ERRC(Errc::fenced, agent.run("x", {.run_id = "r"}));
}

TEST_CASE("a store that failed once has the later steps of the same attempt", "[store_failure]") {
  Kit kit;
  const bool background = GENERATE(true, false);
  INFO((background ? "background" : "deferred"));
  const auto store = std::make_shared<FlakyStore>(kit.store, Durability::process);
  AgentOptions options = kit.with(store);
  options.write_mode = background ? WriteMode::background : WriteMode::deferred;
  options.queue_capacity = 1'000;
  const auto stored = [&] { return stored_journal(*kit.store, "r").trajectory().size(); };
  const auto record = [&](Attempt& attempt) {
    store->fail_between(store->operations() + 1, store->operations() + 1);
    attempt.record_step({.action = "first"});
    int made = 0;
    if (background) {
      await([&] { return store->faults() == 1; });
      for (; made < 100; ++made) attempt.record_step({.action = "s"});
      await([&] { return stored() >= 100; });  // By the store's thread: the queue is not full.
    }
    for (; made < 5'000; ++made) attempt.record_step({.action = "s"});
    if (background) await([&] { return stored() >= 2'000; });
    CHECK(stored() >= 2'000);
    CHECK(store->faults() == 1);
    if (!background) CHECK(kit.log->count(EventKind::store_detached) == 1);
    return 1;
  };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) { return record(attempt); },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(stored() == 5'001);
  CHECK(stored_journal(*kit.store, "r").gaps().empty());
  // The store's thread may have succeeded before anybody noticed that it had failed.
  CHECK(kit.log->count(EventKind::store_attached) == kit.log->count(EventKind::store_detached));
}

TEST_CASE("a store that works again gets what is recorded in the background", "[store_failure]") {
  Kit kit;
  const auto store =
      std::make_shared<Outage>(std::make_shared<FlakyStore>(kit.store, Durability::process));
  AgentOptions options = kit.with(store);
  options.write_mode = WriteMode::background;
  options.queue_capacity = 100'000;  // So that nobody has to wait for room.
  const auto stored = [&] { return stored_journal(*kit.store, "r").trajectory().size(); };
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            store->fails = true;
                            await([&] {
                              attempt.record_step({.action = "s"});
                              return kit.log->count(EventKind::store_detached) == 1;
                            });
                            const std::size_t made = attempt.trajectory().size();
                            CHECK(stored() < made);
                            store->fails = false;
                            for (std::size_t i = 0; i < 13'000 && stored() < made; ++i) {
                              attempt.record_step({.action = "s"});
                            }
                            await([&] { return stored() >= made; });
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
}

TEST_CASE("a machine without free threads slows a run down and does not stop it", "[queue]") {
  Kit kit;
  AgentOptions options = kit.with(std::make_shared<FlakyStore>(kit.store, Durability::process));
  options.write_mode = WriteMode::background;
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            return attempt.effect("pay", [] { return 1; });
                          },
                          answers({RecoveryAction::escalate()}), options};
  const NoMoreThreads none;
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(kit.store->latest("r").value().trajectory.size() == 1);
}

TEST_CASE("a store that throws its warning ends no run", "[store_failure]") {
  struct Grim final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    std::string take_warning() override { throw std::runtime_error("the disk smells"); }
  };
  Kit kit;
  AgentOptions options = kit.with(std::make_shared<Grim>(kit.store));
  const TriageAgent agent{[](const std::string&, Attempt& attempt) {
                            attempt.record_step({.action = "s"});
                            return 1;
                          },
                          answers({RecoveryAction::escalate()}), options};
  CHECK(agent.run("x", {.run_id = "r"}).value() == 1);
  CHECK(kit.log->last(EventKind::store_warning).text.find("smells") != std::string::npos);
}

TEST_CASE("a deadline before all time has passed for who resumes the run too", "[deadline]") {
  Kit kit;
  const TriageAgent agent{[](const std::string&, Attempt&) { return 1; },
                          answers({RecoveryAction::retry()}), kit.options()};
  const auto late = agent.run("x", {.run_id = "r", .deadline = TimePoint::min()});
  CHECK_ERRC(Errc::escalated, late);
  CHECK(late.error().failure()->remaining < Duration::zero());
  CHECK_ERRC(Errc::escalated, agent.resume_run("r"));
}

TEST_CASE("the result of an effect waits for a busy store though the attempt is to stop",
          "[effects]") {
  Kit kit;
  const auto store = triage::testing::FlakyStore::around(kit.store);
  store->fail_with(Error{Errc::busy, "locked"});
  std::stop_source stop;
  int charged = 0;
  const TriageAgent agent{[&](const std::string&, Attempt& attempt) {
                            return attempt.effect("charge", [&] {
                              stop.request_stop();
                              store->only({triage::testing::StoreOperation::append});
                              store->fail_nth(1);
                              return ++charged;
                            });
                          },
                          answers({RecoveryAction::escalate()}), kit.with(store)};
  static_cast<void>(agent.run("x", {.run_id = "r", .stop_token = stop.get_token()}));
  CHECK(charged == 1);
  const EffectState known = stored_journal(*kit.store, "r").effect("charge");
  CHECK(known.status == EffectState::Status::completed);
  CHECK_FALSE(kit.clock->waits.empty());
}
