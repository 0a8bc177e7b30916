// SPDX-License-Identifier: MIT
#include "triage/policies/rate_limiter.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
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
  CHECK(passed == 9);
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

TEST_CASE("options of a limiter that make no sense are refused", "[policies][limiter]") {
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.permits = 0}));
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.period = 0s}));
  CHECK_ERRC(Errc::invalid_argument, RateLimiter::create({.burst = 0}));
  const auto made = RateLimiter::create({.max_wait = -1s});
  CHECK_ERRC(Errc::invalid_argument, made);
  CHECK(made.error().detail == "rate_limiter: max_wait is -1s; allowed is 0s or more");
}
