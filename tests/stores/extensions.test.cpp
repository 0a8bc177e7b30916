// SPDX-License-Identifier: MIT
// What a store can do besides, behind decorators too; and leases that are held for one action.
#include "triage/detail/store_extension.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/compaction.hpp"
#include "triage/forwarding_store.hpp"
#include "triage/policies/stop.hpp"
#include "triage/redaction.hpp"
#include "triage/repair.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/redacting.hpp"
#include "triage/testing/simulated_clock.hpp"
#include "triage/wakes_workers.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

using namespace triage;
using namespace triage::test;

namespace {

// Notifies at once, and stops the worker that listened.
class Waking final : public ForwardingStore, public WakesWorkers {
 public:
  Waking(std::shared_ptr<CheckpointStore> inner, std::stop_source enough)
      : ForwardingStore(std::move(inner)), enough_(std::move(enough)) {}
  bool wait_for_work(std::chrono::milliseconds longest, const std::stop_token&) override {
    waited = longest;
    enough_.request_stop();
    return true;
  }

  std::chrono::milliseconds waited{0};

 private:
  std::stop_source enough_;
};

// Its reads throw, as a user's store may.
class Throwing final : public ForwardingStore, public CompactsRuns {
 public:
  using ForwardingStore::ForwardingStore;
  Result<JournalReading> read(const RunId&, SequenceRange) override {
    throw std::runtime_error("no memory");
  }
  Result<void> replace(const Lease&, std::span<const SequenceRange>,
                       std::span<const Record>) override {
    return outcome::success();
  }
};

std::shared_ptr<RedactingStore> redacting(std::shared_ptr<CheckpointStore> store) {
  return RedactingStore::around(std::move(store), common_secrets()).value();
}

}  // namespace

TEST_CASE("a worker listens to a store behind a decorator", "[stores][work]") {
  std::stop_source enough;
  const auto waking = std::make_shared<Waking>(MemoryStore::create(), enough);
  const auto clock = std::make_shared<testing::SimulatedClock>();
  clock->on_wait([&enough](TimePoint) { enough.request_stop(); });  // It polls.
  const TriageAgent agent{[](int task) { return task; },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "worker", .store = redacting(waking), .clock = clock}};
  REQUIRE_OK(agent.work(1, enough.get_token(), {.poll = std::chrono::milliseconds(7)}));
  CHECK(waking->waited == std::chrono::milliseconds(7));
}

TEST_CASE("the nearest store of a chain is asked", "[stores]") {
  std::stop_source enough;
  const auto inner = std::make_shared<Waking>(MemoryStore::create(), enough);
  const auto outer = std::make_shared<Waking>(inner, enough);
  wait_for_work(*outer, std::chrono::milliseconds(3), {});
  CHECK(outer->waited == std::chrono::milliseconds(3));
  CHECK(inner->waited == std::chrono::milliseconds(0));
  CHECK(detail::nearest_extension<RepairsItself>(*outer) == nullptr);
}

TEST_CASE("a decorator that changes records is not passed by", "[stores]") {
  const auto store = redacting(MemoryStore::create());
  CHECK(detail::extension_of<CompactsRuns>(*store) == nullptr);
  CHECK(detail::nearest_extension<CompactsRuns>(*store) != nullptr);
}

TEST_CASE("a run is free again when a store throws while it is repaired or compacted", "[stores]") {
  const auto store = std::make_shared<Throwing>(MemoryStore::create());
  const TriageAgent agent{[](int task) { return task; },
                          FailurePolicy().otherwise(escalate()),
                          {.name = "a", .store = store}};
  REQUIRE_OK(agent.run(1, {.run_id = "r"}));
  CHECK_ERRC(Errc::io, repair_run(*store, "r"));
  CHECK_FALSE(store->run("r").value().owned);
  CHECK_ERRC(Errc::io, compact_run(*store, "r", {}));
  CHECK_FALSE(store->run("r").value().owned);
}
