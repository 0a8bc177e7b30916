// SPDX-License-Identifier: MIT
#include "triage/policies/bulkhead.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <thread>
#include <vector>

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using Kind = GateAnswer::Kind;

TEST_CASE("no more than the allowed number run at once", "[policies][bulkhead]") {
  const auto gate = Bulkhead::create({.max_concurrent = 2}).value();
  const GateAnswer first = gate->enter(at(0ms));
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  const GateAnswer refused = gate->enter(at(0ms));
  CHECK(refused.kind == Kind::refuse);
  CHECK(refused.reason == "bulkhead_full");
  gate->leave(at(0ms), first.ticket, nullptr);
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
}

TEST_CASE("a place is waited for as long as allowed", "[policies][bulkhead]") {
  const auto gate = Bulkhead::create({.max_concurrent = 1, .max_wait = 25ms, .poll = 10ms}).value();
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  GateRequest waiting = at(0ms);
  CHECK(gate->enter(waiting).wait == 10ms);
  waiting.waited = 20ms;
  CHECK(gate->enter(waiting).wait == 5ms);
  waiting.waited = 25ms;
  CHECK(gate->enter(waiting).kind == Kind::refuse);
}

TEST_CASE("a permit gives its place back when it goes", "[policies][bulkhead]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const GateKeeper keeper({Bulkhead::create({.max_concurrent = 1}).value()}, clock);
  Permit permit;
  {
    Permit inner;
    REQUIRE(keeper.enter({.tool = "a"}, inner).kind == Kind::pass);
    CHECK(keeper.enter({.tool = "a"}, permit).kind == Kind::refuse);
    CHECK(keeper.enter({.tool = "b"}, permit).kind == Kind::pass);
  }
  CHECK(keeper.enter({.tool = "a"}, permit).kind == Kind::pass);
  Permit moved = std::move(permit);
  moved.succeeded();
  moved.succeeded();  // The first report counts.
  CHECK(keeper.enter({.tool = "a"}, permit).kind == Kind::pass);
}

TEST_CASE("gates that were passed are left when a later one refuses", "[policies][bulkhead]") {
  const auto clock = std::make_shared<testing::SimulatedClock>();
  const auto outer = Bulkhead::create({.max_concurrent = 1}).value();
  const auto inner = Bulkhead::create({.max_concurrent = 1}).value();
  const GateKeeper both({outer, inner}, clock);
  const GateKeeper only_inner({inner}, clock);
  Permit held;
  REQUIRE(only_inner.enter({.tool = "a"}, held).kind == Kind::pass);
  Permit permit;
  CHECK(both.enter({.tool = "a"}, permit).kind == Kind::refuse);
  held = Permit();
  CHECK(both.enter({.tool = "a"}, permit).kind == Kind::pass);
}

TEST_CASE("threads never exceed the bulkhead", "[policies][bulkhead]") {
  const auto gate = Bulkhead::create({.max_concurrent = 3}).value();
  std::atomic<int> running = 0;
  std::atomic<bool> exceeded = false;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int call = 0; call < 2'000; ++call) {
          const GateAnswer answer = gate->enter(at(0ms));
          if (answer.kind != Kind::pass) continue;
          if (++running > 3) exceeded = true;
          --running;
          gate->leave(at(0ms), answer.ticket, &success);
        }
      });
    }
  }
  CHECK_FALSE(exceeded);
}

TEST_CASE("options of a bulkhead that make no sense are refused", "[policies][bulkhead]") {
  CHECK_ERRC(Errc::invalid_argument, Bulkhead::create({.max_concurrent = 0}));
  CHECK_ERRC(Errc::invalid_argument, Bulkhead::create({.max_wait = -1s}));
  CHECK_ERRC(Errc::invalid_argument, Bulkhead::create({.poll = 0s}));
}
