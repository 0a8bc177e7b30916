// SPDX-License-Identifier: MIT
// Faults in stores and clocks.
#include "triage/agent.hpp"
#include "triage/lab/chaos.hpp"
#include "triage/policies/retry.hpp"
#include "triage/policies/stop.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/simulated_clock.hpp"

#include "support/catch.hpp"

#include <string>

using namespace triage;
using lab::Chaos;
using lab::Fault;

namespace {

const auto two_steps = [](const std::string&, Attempt& attempt) {
  attempt.record_step({.action = "one"});
  attempt.record_step({.action = "two"});
  return 7;
};

FailurePolicy give_up() { return FailurePolicy().otherwise(escalate()); }

}  // namespace

TEST_CASE("a run whose store is out is never plain success", "[lab][chaos]") {
  const Chaos chaos{{.rules = {{.fault = Fault::store_outage, .step = "append"}}}};
  const TriageAgent agent{two_steps, give_up(), {.store = chaos.store(MemoryStore::create())}};
  const auto done = agent.run("task", {.run_id = "r"});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::io);
  CHECK(done.error().unstored_value<int>() != nullptr);
  CHECK(chaos.injected().front().place == "store//append");
}

TEST_CASE("a store that does its work and loses the answer costs a run nothing", "[lab][chaos]") {
  const Chaos chaos{{.rules = {{.fault = Fault::lost_answer, .at = {1}}}}};
  const auto store = MemoryStore::create();
  const TriageAgent agent{two_steps, give_up(), {.store = chaos.store(store)}};
  CHECK(agent.run("task", {.run_id = "r"}));
  CHECK(chaos.injected_count() >= 1);
  CHECK(store->run("r").value().status == RunStatus::finished);
}

TEST_CASE("a record that cannot be read is reported as damaged, not handed out", "[lab][chaos]") {
  const auto store = MemoryStore::create();
  REQUIRE(TriageAgent(two_steps, give_up(), {.store = store}).run("task", {.run_id = "r"}));
  const std::size_t all = store->read("r", {}).value().records.size();
  const Chaos chaos{{.rules = {{.fault = Fault::corrupt_checkpoint, .at = {2}}}}};
  const auto spoilt = chaos.store(store);
  CHECK(spoilt->read("r", {}).value().damaged.empty());
  const auto reading = spoilt->read("r", {}).value();
  CHECK(reading.records.size() == all - 1);
  REQUIRE(reading.damaged.size() == 1);
  CHECK(reading.damaged.front().error.code == Errc::corrupt);
  CHECK(spoilt->read("r", {}).value().damaged.empty());
}

TEST_CASE("a store may be slow, and a process may die in it", "[lab][chaos]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  bool killed = false;
  const Chaos chaos{
      {.rules = {{.fault = Fault::latency, .step = "run", .length = std::chrono::seconds(3)},
                 {.fault = Fault::kill, .step = "read"}}},
      {.clock = clock, .kill = [&] { killed = true; }}};
  const auto store = chaos.store(MemoryStore::create());
  CHECK_FALSE(store->run("r"));
  CHECK(clock->elapsed() == std::chrono::seconds(3));
  CHECK_FALSE(killed);
  const auto reading = store->read("r", {});
  CHECK(killed);
  REQUIRE_FALSE(reading);  // Whoever stands for the process decides what comes next.
  CHECK(reading.error().code == Errc::io);
}

TEST_CASE("calendar time jumps, and waits do not notice", "[lab][chaos]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const Chaos chaos{
      {.rules = {{.fault = Fault::clock_jump, .at = {2}, .length = -std::chrono::hours(1)}}}};
  const auto jumping = chaos.clock(clock);
  CHECK(jumping->wall_now() == clock->wall_now());
  CHECK(jumping->wall_now() == clock->wall_now() - std::chrono::hours(1));
  CHECK(jumping->wall_now() == clock->wall_now() - std::chrono::hours(1));
  CHECK(jumping->now() == clock->now());
  CHECK(jumping->sleep_until(clock->now() + std::chrono::seconds(1), {}));
  CHECK(clock->elapsed() == std::chrono::seconds(1));
  bool rang = false;
  const auto alarm = jumping->alarm(clock->now() + std::chrono::hours(1), [&] { rang = true; });
  CHECK(clock->elapsed() == std::chrono::seconds(1));
  clock->advance(std::chrono::hours(1));
  CHECK(rang);
}

TEST_CASE("corrupted records take nothing from the faults of a store's operations",
          "[lab][chaos]") {
  const auto failing = [](std::vector<lab::FaultRule> rules) {
    const Chaos chaos{{.rules = std::move(rules)}};
    const auto store = chaos.store(MemoryStore::create());
    int failed = 0;
    for (int i = 0; i < 1000; ++i) {
      if (!store->runs({})) ++failed;
    }
    return failed;
  };
  const lab::FaultRule outage{.fault = Fault::store_outage, .rate = 0.3};
  CHECK(failing({{.fault = Fault::corrupt_checkpoint}, outage}) == Approx(300).margin(50));
  CHECK(failing({outage}) == Approx(300).margin(50));
  const Chaos chaos{{.rules = {{.fault = Fault::lost_answer, .step = "record"},
                               {.fault = Fault::corrupt_checkpoint}}}};
  const auto inner = MemoryStore::create();
  REQUIRE(TriageAgent(two_steps, give_up(), {.store = inner}).run("task", {.run_id = "r"}));
  CHECK(chaos.store(inner)->read("r", {}).value().damaged.size() == 1);
}
