// SPDX-License-Identifier: MIT
#include "triage/policies/rate_limiter.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/stores/memory.hpp"

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using Kind = GateAnswer::Kind;

TEST_CASE("permits are spread over the period", "[policies][limiter]") {
  const auto gate = RateLimiter::create({.permits = 5}).value();
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  const GateAnswer second = gate->enter(at(50ms));
  CHECK(second.kind == Kind::wait);
  CHECK(second.wait == 150ms);
  CHECK(gate->enter(at(200ms)).kind == Kind::pass);
}

TEST_CASE("a burst may start at once after a pause", "[policies][limiter]") {
  const auto gate = RateLimiter::create({.permits = 10, .burst = 3}).value();
  for (int i = 0; i < 3; ++i) CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  CHECK(gate->enter(at(0ms)).wait == 100ms);
  int passed = 0;
  for (int millisecond = 0; millisecond < 1000; ++millisecond) {
    if (gate->enter(at(std::chrono::milliseconds(millisecond))).kind == Kind::pass) ++passed;
  }
  CHECK(passed == 7);  // Ten in the second, including those of the burst.
}

TEST_CASE("who would wait too long is refused", "[policies][limiter]") {
  const auto gate = RateLimiter::create({.permits = 1, .period = 10s, .max_wait = 12s}).value();
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  GateRequest patient = at(0ms);
  patient.waited = 5s;
  const GateAnswer refused = gate->enter(patient);
  CHECK(refused.kind == Kind::refuse);
  CHECK(refused.reason == "rate_limited");
  CHECK(refused.wait == 10s);
  CHECK(gate->enter(at(0ms)).kind == Kind::wait);
}

TEST_CASE("what the other side asks for is kept for everybody", "[policies][limiter]") {
  const auto shared = std::make_shared<MemoryStore>();
  const auto gate = RateLimiter::create({.permits = 1000, .shared = shared}).value();
  const auto other = RateLimiter::create({.permits = 1000, .shared = shared}).value();
  const GateOutcome limited{.succeeded = false,
                            .type = FailureType::external_fault,
                            .reason = "rate_limited",
                            .retry_after = 20s};
  REQUIRE(call(*gate, at(0ms), limited));
  CHECK(other->enter(at(5s)).wait == 15s);
  CHECK(other->enter(at(20s)).kind == Kind::pass);
  SECTION("for any length") {
    const GateOutcome never{.succeeded = false, .retry_after = Duration::max()};
    REQUIRE(call(*gate, at(30s), never));
    CHECK(gate->enter(at(31s)).kind == Kind::refuse);
  }
}

TEST_CASE("endpoints do not share a rate", "[policies][limiter]") {
  const auto gate = RateLimiter::create({.permits = 1}).value();
  CHECK(gate->enter(at(0ms)).kind == Kind::pass);
  GateRequest elsewhere = at(0ms);
  elsewhere.endpoint = "example.com";
  CHECK(gate->enter(elsewhere).kind == Kind::pass);
}

TEST_CASE("a second has never more starts than permits, whatever their number",
          "[policies][limiter]") {
  const auto [permits, period, burst] = GENERATE(
      table<int, Duration, int>({{3, 1s, 1}, {7, 1s, 1}, {600, 1ms, 1}, {3, 1s, 3}, {9, 1s, 4}}));
  const auto gate =
      RateLimiter::create({.permits = permits, .period = period, .burst = burst}).value();
  int passed = 0;
  for (int part = 0; part < 10'000; ++part) {
    GateRequest request = at(0ms);
    request.now += period / 10'000 * part;
    if (gate->enter(request).kind == Kind::pass) ++passed;
  }
  CHECK(passed <= permits);
  CHECK(passed >= permits * 98 / 100);  // The polling step does not divide all intervals.
}

TEST_CASE("bursts do not cost rate", "[policies][limiter]") {
  const int permits = GENERATE(10, 1'000);
  const auto gate = RateLimiter::create({.permits = permits, .burst = permits}).value();
  int passed = 0;
  for (int millisecond = 0; millisecond < 10'000; ++millisecond) {
    while (gate->enter(at(std::chrono::milliseconds(millisecond))).kind == Kind::pass) ++passed;
  }
  CHECK(passed <= 10 * permits);
  CHECK(passed >= 98 * permits / 10);
}

TEST_CASE("a wall clock that is set refuses nobody", "[policies][limiter]") {
  const auto shared = std::make_shared<MemoryStore>();
  const RateLimiterOptions options{.permits = 1, .max_wait = 0s, .shared = shared};
  const auto gate = RateLimiter::create(options).value();
  const auto other = RateLimiter::create(options).value();
  REQUIRE(gate->enter(at(0ms)).kind == Kind::pass);
  int passed = 0;
  const auto call_for_a_minute = [&](RateLimiter& limiter, std::chrono::milliseconds offset) {
    for (int second = 2; second < 62; ++second) {
      GateRequest request = at(std::chrono::milliseconds(1'001 * second));
      request.wall += offset;
      if (limiter.enter(request).kind == Kind::pass) ++passed;
    }
  };
  SECTION("back by an hour") { call_for_a_minute(*gate, -1h); }
  SECTION("back by an hour, in another process") { call_for_a_minute(*other, -1h); }
  SECTION("ahead by a day, in another process") {
    GateRequest ahead = at(1ms);
    ahead.wall += 24h;
    static_cast<void>(other->enter(ahead));
    call_for_a_minute(*gate, 0ms);
  }
  CHECK(passed == 60);
}

TEST_CASE("a clock that is set does not prolong what the other side asked for",
          "[policies][limiter]") {
  const auto shared = std::make_shared<MemoryStore>();
  const auto ahead = RateLimiter::create({.shared = shared}).value();
  const auto right = RateLimiter::create({.max_wait = 0s, .shared = shared}).value();
  GateRequest tomorrow = at(0ms);
  tomorrow.wall += 24h;
  const GateOutcome limited{.succeeded = false, .retry_after = 1h};
  REQUIRE(call(*ahead, tomorrow, limited));
  CHECK(right->enter(at(1s)).wait == 1h);
  CHECK(right->enter(at(1min)).wait == 59min + 1s);
  CHECK(right->enter(at(1h + 1s)).kind == Kind::pass);
}

TEST_CASE("a Retry-After survives any number of other keys", "[policies][limiter]") {
  const auto gate = RateLimiter::create({.max_wait = 0s}).value();
  const GateOutcome limited{.succeeded = false, .retry_after = 1h};
  REQUIRE(call(*gate, at(0ms), limited));
  for (int key = 0; key < 20'000; ++key) {
    GateRequest other = at(std::chrono::milliseconds(key / 10));
    const std::string name = std::to_string(key);
    other.endpoint = name;
    CHECK(gate->enter(other).kind == Kind::pass);
  }
  CHECK(gate->enter(at(30min)).wait == 30min);
}

TEST_CASE("a permit that a later gate refuses is given back", "[policies][limiter]") {
  std::shared_ptr<KeySpace> shared;
  SECTION("of a process") {}
  SECTION("of all") { shared = std::make_shared<MemoryStore>(); }
  const int burst = GENERATE(1, 3);
  const auto limiter =
      RateLimiter::create({.permits = 3, .burst = burst, .max_wait = 0s, .shared = shared}).value();
  const auto breaker = CircuitBreaker::create({}).value();
  breaker->force({.tool = "search"}, BreakerMode::forced_open);
  const GateKeeper both({limiter, breaker});
  Permit permit;
  for (int i = 0; i < 10; ++i) {
    CHECK(both.enter({.tool = "search"}, permit).reason == "circuit_open");
  }
  const GateKeeper alone({limiter});
  for (int i = 0; i < burst; ++i) {
    CHECK(alone.enter({.tool = "search"}, permit).kind == Kind::pass);
  }
  permit = Permit();  // It has started, so it is not given back.
  CHECK(alone.enter({.tool = "search"}, permit).kind == Kind::refuse);
}

TEST_CASE("what an older version shared is read", "[policies][limiter]") {
  const auto shared = std::make_shared<MemoryStore>();
  const auto micros = std::chrono::microseconds(at(0ms).wall.time_since_epoch()).count();
  const Json old{{"theoretical", micros + 500'000}, {"blocked_until", micros + 2'000'000}};
  REQUIRE_OK(shared->put_if(detail::own_space(detail::OwnSpace::limiters), "6:search@example.org",
                            0, old.dump()));
  const auto gate = RateLimiter::create({.permits = 1, .shared = shared}).value();
  CHECK(gate->enter(at(0ms)).wait == 2s);
  CHECK(gate->enter(at(1s)).wait == 1s);
  CHECK(gate->enter(at(2s)).kind == Kind::pass);
}

TEST_CASE("options of a limiter that make no sense are refused", "[policies][limiter]") {
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.permits = 0}));
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.period = 0s}));
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.burst = 0}));
  const auto made = RateLimiter::create({.max_wait = -1s});
  CHECK_ERRC(Errc::invalid_argument, made);
  CHECK(made.error().detail == "rate_limiter: max_wait is -1s; allowed is 0s or more");
}
