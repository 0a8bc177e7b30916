// SPDX-License-Identifier: MIT
#include "triage/gate.hpp"

#include "policies/gates.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/stores/memory.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::gates;
using namespace std::chrono_literals;
using Kind = GateAnswer::Kind;

namespace {

class CountingClock final : public Clock {
 public:
  TimePoint now() override {
    ++read;
    return origin;
  }
  WallTime wall_now() override {
    ++wall_read;
    return wall_origin;
  }
  bool sleep_until(TimePoint, std::stop_token) override { return true; }

  int read = 0;
  int wall_read = 0;
};

// Logs entries and exits of all gates together, with times.
class NotingGate final : public Gate {
 public:
  NotingGate(std::string name, std::vector<std::string>& log, bool wall)
      : name_(std::move(name)), log_(log), wall_(wall) {}
  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] bool needs_wall_time() const noexcept override { return wall_; }
  [[nodiscard]] GateAnswer enter(const GateRequest& request) noexcept override {
    seen_wall = request.wall;
    log_.push_back("in " + name_);
    return {.ticket = log_.size()};
  }
  void leave(const GateRequest&, std::uint64_t ticket,
             const GateOutcome* outcome) noexcept override {
    log_.push_back("out " + name_ + " " + std::to_string(ticket) + (outcome ? "" : " untold"));
  }

  WallTime seen_wall{};

 private:
  std::string name_;
  std::vector<std::string>& log_;
  bool wall_;
};

}  // namespace

TEST_CASE("gates are left in reverse order, each with its own ticket, however many there are",
          "[policies][gates]") {
  std::vector<std::string> log;
  std::vector<std::shared_ptr<Gate>> gates;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    gates.push_back(std::make_shared<NotingGate>(name, log, false));
  }
  const GateKeeper keeper(gates, std::make_shared<CountingClock>());
  Permit permit;
  REQUIRE(keeper.enter(at(0ms), permit).kind == Kind::pass);
  Permit moved = std::move(permit);
  log.erase(log.begin(), log.begin() + 6);
  moved.succeeded();
  CHECK(log ==
        std::vector<std::string>{"out f 6", "out e 5", "out d 4", "out c 3", "out b 2", "out a 1"});
}

TEST_CASE("the wall clock is read only for gates that want it, and then for all of a list",
          "[policies][gates]") {
  std::vector<std::string> log;
  const auto clock = std::make_shared<CountingClock>();
  const auto without = std::make_shared<NotingGate>("without", log, false);
  const auto with = std::make_shared<NotingGate>("with", log, true);
  Permit permit;
  REQUIRE(GateKeeper({without}, clock).enter(at(0ms), permit).kind == Kind::pass);
  permit.succeeded();
  CHECK(clock->wall_read == 0);
  CHECK(clock->read == 2);
  REQUIRE(GateKeeper({without, with}, clock).enter(at(0ms), permit).kind == Kind::pass);
  CHECK(with->seen_wall == wall_origin);
  CHECK(without->seen_wall == wall_origin);
}

TEST_CASE("a gate that processes share wants the wall time, one of this process does not",
          "[policies][gates]") {
  const auto store = std::make_shared<MemoryStore>();
  CHECK(CircuitBreaker::create({.shared = store}).value()->needs_wall_time());
  CHECK_FALSE(CircuitBreaker::create().value()->needs_wall_time());
  CHECK(RateLimiter::create({.shared = store}).value()->needs_wall_time());
  CHECK_FALSE(RateLimiter::create().value()->needs_wall_time());
}
