// SPDX-License-Identifier: MIT
#include "triage/policies/circuit_breaker.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/stores/memory.hpp"

#include <thread>
#include <vector>

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using Kind = GateAnswer::Kind;

namespace {

const BreakerOptions small{.window = 10s,
                           .minimum_calls = 4,
                           .failure_rate = 0.5,
                           .break_duration = 5s,
                           .probes = 2,
                           .probe_lease = 3s};

std::shared_ptr<CircuitBreaker> breaker(BreakerOptions options = small) {
  return CircuitBreaker::create(std::move(options)).value();
}

void open_up(CircuitBreaker& gate) {
  for (int i = 0; i < 4; ++i) REQUIRE(call(gate, at(0ms), fault));
  REQUIRE(gate.state(at(0ms)) == BreakerState::open);
}

}  // namespace

TEST_CASE("a breaker opens at its failure rate, not below its minimum of calls",
          "[policies][breaker]") {
  const auto gate = breaker();
  for (int i = 0; i < 3; ++i) CHECK(call(*gate, at(0ms), fault));
  CHECK(gate->state(at(0ms)) == BreakerState::closed);
  CHECK(call(*gate, at(0ms), success));  // 3 of 4.
  CHECK(gate->state(at(0ms)) == BreakerState::open);
  const GateAnswer refused = gate->enter(at(1s));
  CHECK(refused.kind == Kind::refuse);
  CHECK(refused.reason == "circuit_open");
  CHECK(refused.wait == 4s);
  CHECK(refused.message ==
        "the circuit of \"search\" at \"example.org\" is open after failures of type "
        "external_fault");
}

TEST_CASE("outcomes leave the window", "[policies][breaker]") {
  const auto gate = breaker();
  for (int i = 0; i < 3; ++i) CHECK(call(*gate, at(0ms), fault));
  CHECK(call(*gate, at(11s), fault));
  CHECK(gate->state(at(11s)) == BreakerState::closed);
}

TEST_CASE("each tool, endpoint and failure type has a circuit of its own", "[policies][breaker]") {
  const auto gate = breaker();
  const GateOutcome slow_answer{.succeeded = false, .type = FailureType::timeout};
  const GateOutcome denied{.succeeded = false, .type = FailureType::access_denied};
  for (int i = 0; i < 8; ++i) CHECK(call(*gate, at(0ms), denied));
  CHECK(gate->state(at(0ms)) == BreakerState::closed);
  const auto second = breaker();
  CHECK(call(*second, at(0ms), fault));
  for (int i = 0; i < 3; ++i) CHECK(call(*second, at(0ms), slow_answer));
  CHECK(second->state(at(0ms), FailureType::external_fault) == BreakerState::closed);
  CHECK(second->state(at(0ms), FailureType::timeout) == BreakerState::open);
  GateRequest elsewhere = at(0ms);
  elsewhere.endpoint = "example.com";
  CHECK(call(*second, elsewhere, success));
}

TEST_CASE("enough probes that succeed close it, one that fails opens it again",
          "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  const GateAnswer first = gate->enter(at(5s));
  REQUIRE(first.kind == Kind::pass);
  CHECK(gate->state(at(5s)) == BreakerState::half_open);
  const GateAnswer second = gate->enter(at(5s));
  REQUIRE(second.kind == Kind::pass);
  CHECK(gate->enter(at(5s)).kind == Kind::refuse);
  gate->leave(at(6s), first.ticket, &success);
  CHECK(gate->enter(at(6s)).kind == Kind::refuse);  // The permitted number is a total.
  SECTION("closes") {
    gate->leave(at(6s), second.ticket, &success);
    CHECK(gate->state(at(6s)) == BreakerState::closed);
  }
  SECTION("opens") {
    gate->leave(at(6s), second.ticket, &fault);
    CHECK(gate->state(at(6s)) == BreakerState::open);
    CHECK(gate->enter(at(10s)).kind == Kind::refuse);
    CHECK(gate->enter(at(11s)).kind == Kind::pass);
  }
}

TEST_CASE("a probe that is never reported does not keep it half-open", "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  const GateAnswer lost = gate->enter(at(5s));
  REQUIRE(lost.kind == Kind::pass);
  CHECK(gate->state(at(7'999ms)) == BreakerState::half_open);
  CHECK(gate->state(at(8s)) == BreakerState::open);
  CHECK(gate->enter(at(13s)).kind == Kind::pass);
  SECTION("its late report says nothing any more") {
    gate->leave(at(13s), lost.ticket, &success);
    CHECK(gate->state(at(13s)) == BreakerState::half_open);
  }
}

TEST_CASE("one success within the lease is enough where traffic is thin", "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  CHECK(call(*gate, at(5s), success));
  CHECK(gate->state(at(8s)) == BreakerState::closed);
}

TEST_CASE("a permit that is given back without an outcome frees its probe", "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  const GateAnswer first = gate->enter(at(5s));
  const GateAnswer second = gate->enter(at(5s));
  CHECK(gate->enter(at(5s)).kind == Kind::refuse);
  gate->leave(at(5s), first.ticket, nullptr);
  CHECK(gate->enter(at(5s)).kind == Kind::pass);
  gate->leave(at(5s), second.ticket, &success);
}

TEST_CASE("a report from before it opened does not count", "[policies][breaker]") {
  const auto gate = breaker();
  const GateAnswer early = gate->enter(at(0ms));
  open_up(*gate);
  REQUIRE(gate->enter(at(5s)).kind == Kind::pass);
  gate->leave(at(5s), early.ticket, &fault);
  CHECK(gate->state(at(5s)) == BreakerState::half_open);
}

TEST_CASE("slow calls open it although they succeed", "[policies][breaker]") {
  BreakerOptions options = small;
  options.slow_call = 2s;
  options.slow_rate = 0.75;
  const auto gate = breaker(options);
  const GateOutcome slow{.took = 2s};
  for (int i = 0; i < 3; ++i) CHECK(call(*gate, at(0ms), slow));
  CHECK(gate->state(at(0ms)) == BreakerState::closed);
  CHECK(call(*gate, at(0ms), success));
  CHECK(gate->state(at(0ms)) == BreakerState::open);
}

TEST_CASE("in retry-only mode first tries pass and retries do not", "[policies][breaker]") {
  BreakerOptions options = small;
  options.retry_only = true;
  const auto gate = breaker(options);
  open_up(*gate);
  CHECK(gate->enter(at(1s)).kind == Kind::pass);
  CHECK(gate->enter(at(1s, true)).kind == Kind::refuse);
  CHECK(call(*gate, at(5s, true), success));
  CHECK(call(*gate, at(5s, true), success));
  CHECK(gate->state(at(5s)) == BreakerState::closed);
}

TEST_CASE("in retry-only mode a first try beside a probe says nothing for it",
          "[policies][breaker]") {
  BreakerOptions options = small;
  options.retry_only = true;
  options.probes = 1;
  const auto gate = breaker(options);
  open_up(*gate);
  const GateAnswer probe = gate->enter(at(5s, true));
  REQUIRE(probe.kind == Kind::pass);
  const GateAnswer first_try = gate->enter(at(5s));
  REQUIRE(first_try.kind == Kind::pass);
  SECTION("its cancellation frees no place") { gate->leave(at(5s), first_try.ticket, nullptr); }
  SECTION("its success does not close it") { gate->leave(at(5s), first_try.ticket, &success); }
  SECTION("its failure does not open it") { gate->leave(at(5s), first_try.ticket, &fault); }
  CHECK(gate->state(at(5s)) == BreakerState::half_open);
  CHECK(gate->enter(at(5s, true)).kind == Kind::refuse);
  gate->leave(at(5s, true), probe.ticket, &success);
  CHECK(gate->state(at(5s)) == BreakerState::closed);
}

TEST_CASE("it can be forced, and is automatic again when told", "[policies][breaker]") {
  const auto gate = breaker();
  gate->force(at(0ms), BreakerMode::forced_open);
  CHECK(gate->enter(at(100s)).message ==
        "the circuit of \"search\" at \"example.org\" is open, by hand");
  gate->force(at(0ms), BreakerMode::forced_closed);
  for (int i = 0; i < 9; ++i) CHECK(call(*gate, at(0ms), fault));
  gate->force(at(0ms), BreakerMode::automatic);
  CHECK(gate->state(at(0ms)) == BreakerState::closed);
  open_up(*gate);
}

TEST_CASE("a report from before it was forced does not count", "[policies][breaker]") {
  const auto gate = breaker();
  std::vector<std::uint64_t> before;
  for (int i = 0; i < 4; ++i) before.push_back(gate->enter(at(0ms)).ticket);
  gate->force(at(0ms), BreakerMode::forced_open);
  gate->force(at(0ms), BreakerMode::automatic);
  CHECK(call(*gate, at(1s), success));
  for (const std::uint64_t ticket : before) gate->leave(at(1s), ticket, &fault);
  CHECK(gate->state(at(1s)) == BreakerState::closed);
}

TEST_CASE("every change is told", "[policies][breaker]") {
  std::vector<BreakerState> told;
  BreakerOptions options = small;
  options.probes = 1;
  options.on_change = [&](const BreakerChange& change) {
    CHECK(change.tool == "search");
    CHECK(change.type == FailureType::external_fault);
    told.push_back(change.to);
    throw 1;  // Must not matter.
  };
  const auto gate = breaker(options);
  open_up(*gate);
  CHECK(call(*gate, at(5s), success));
  CHECK(told == std::vector{BreakerState::open, BreakerState::half_open, BreakerState::closed});
}

TEST_CASE("processes on one key space share the circuits", "[policies][breaker]") {
  BreakerOptions options = small;
  options.shared = std::make_shared<MemoryStore>();
  const auto here = breaker(options);
  const auto there = breaker(options);
  for (int i = 0; i < 2; ++i) {
    CHECK(call(*here, at(0ms), fault));
    CHECK(call(*there, at(0ms), fault));
  }
  CHECK(here->state(at(0ms)) == BreakerState::open);
  CHECK(there->state(at(0ms)) == BreakerState::open);
  const GateAnswer probe = here->enter(at(5s));
  CHECK(there->enter(at(5s)).kind == Kind::pass);
  CHECK(there->enter(at(5s)).kind == Kind::refuse);
  here->leave(at(5s), probe.ticket, &fault);
  CHECK(there->enter(at(6s)).kind == Kind::refuse);
  SECTION("what is damaged there counts as nothing") {
    const auto space = triage::detail::own_space(triage::detail::OwnSpace::breakers);
    REQUIRE_OK(
        options.shared->put_if(space, "6:search@example.org",
                               options.shared->get(space, "6:search@example.org").value()->version,
                               "{\"tracks\":{\"timeout\":{\"state\":99,\"window\":[[1]]}}}"));
    CHECK(here->enter(at(100s)).kind == Kind::pass);
  }
}

TEST_CASE("eight threads see no more probes than permitted", "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  std::atomic<int> passed = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 500; ++call) {
        if (gate->enter(at(5s)).kind == Kind::pass) ++passed;
      }
    });
  }
  threads.clear();
  CHECK(passed == 2);
}

TEST_CASE("options of a breaker that make no sense are refused", "[policies][breaker]") {
  const auto problem = [](auto change) {
    BreakerOptions options = small;
    change(options);
    const auto made = CircuitBreaker::create(options);
    CHECK_ERRC(Errc::invalid_argument, made);
    return made ? std::string() : made.error().detail;
  };
  CHECK(problem([](auto& o) { o.window = 0s; }) ==
        "circuit_breaker: window is 0s; allowed is 10ms or more");
  CHECK(problem([](auto& o) { o.failure_rate = 1.5; }) ==
        "circuit_breaker: failure_rate is 1.5; allowed is above 0, up to 1");
  CHECK_FALSE(problem([](auto& o) { o.types.clear(); }).empty());
  CHECK_FALSE(problem([](auto& o) { o.minimum_calls = 0; }).empty());
  CHECK_FALSE(problem([](auto& o) { o.slow_call = -1s; }).empty());
  CHECK_FALSE(problem([](auto& o) { o.slow_rate = 0; }).empty());
  CHECK_FALSE(problem([](auto& o) { o.break_duration = 0s; }).empty());
  CHECK_FALSE(problem([](auto& o) { o.probes = 0; }).empty());
  CHECK_FALSE(problem([](auto& o) { o.probe_lease = 0s; }).empty());
}

TEST_CASE("open circuits survive any number of other keys", "[policies][breaker]") {
  const auto gate = breaker();
  open_up(*gate);
  GateRequest by_hand = at(0ms);
  by_hand.endpoint = "closed for repair";
  gate->force(by_hand, BreakerMode::forced_open);
  for (int key = 0; key < 20'000; ++key) {
    GateRequest other = at(std::chrono::milliseconds(key / 10));
    const std::string name = std::to_string(key);
    other.endpoint = name;
    CHECK(call(*gate, other, key % 2 == 0 ? fault : success));
  }
  CHECK(gate->enter(at(4s)).kind == Kind::refuse);
  by_hand.now += 240h;
  CHECK(gate->enter(by_hand).kind == Kind::refuse);
}

TEST_CASE("keys beyond the bound are let through when all circuits are open",
          "[policies][breaker]") {
  const auto gate = breaker({.minimum_calls = 1, .break_duration = 1h});
  std::string name;
  const auto at_endpoint = [&](int key) {
    name = std::to_string(key);
    GateRequest request = at(0ms);
    request.endpoint = name;
    return request;
  };
  for (int key = 0; key < 70'000; ++key) call(*gate, at_endpoint(key), fault);
  CHECK(gate->enter(at_endpoint(0)).kind == Kind::refuse);
  CHECK(gate->enter(at_endpoint(60'000)).kind == Kind::refuse);
  CHECK(gate->enter(at_endpoint(69'999)).kind == Kind::pass);
  gate->force(at_endpoint(69'999), BreakerMode::forced_open);
  CHECK(gate->enter(at_endpoint(69'999)).kind == Kind::refuse);
}

TEST_CASE("a wall clock that is set keeps no shared circuit open", "[policies][breaker]") {
  const auto shared = std::make_shared<MemoryStore>();
  BreakerOptions options = small;
  options.shared = shared;
  const auto gate = breaker(options);
  const auto offset = GENERATE(std::chrono::milliseconds(1h), std::chrono::milliseconds(24h));
  for (int i = 0; i < 4; ++i) {
    GateRequest request = at(0ms);
    request.wall += offset;
    REQUIRE(call(*gate, request, fault));
  }
  CHECK(gate->enter(at(1s)).wait == 5s);
  CHECK(gate->enter(at(6s)).kind == Kind::pass);
}

namespace {

class ThrowingSpace final : public KeySpace {
 public:
  Result<std::optional<VersionedValue>> get(std::string_view, std::string_view) override {
    throw std::runtime_error("no connection");
  }
  Result<std::uint64_t> put_if(std::string_view, std::string_view, std::uint64_t,
                               std::string_view) override {
    throw std::runtime_error("no connection");
  }
  Result<std::vector<std::string>> list(std::string_view, std::string_view) override {
    throw std::runtime_error("no connection");
  }
};

}  // namespace

TEST_CASE("a key space that throws is left alone", "[policies][breaker]") {
  BreakerOptions options = small;
  options.shared = std::make_shared<ThrowingSpace>();
  const auto gate = breaker(options);
  open_up(*gate);
  CHECK(gate->enter(at(1s)).kind == Kind::refuse);
}
