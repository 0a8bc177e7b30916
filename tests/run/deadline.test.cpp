// SPDX-License-Identifier: MIT
// A callable that checks its deadline overruns it at most by its own last sleep.
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/agent.hpp"
#include "triage/policies/backoff.hpp"
#include "triage/policies/rate_limiter.hpp"
#include "triage/stores/memory.hpp"
#include "triage/testing/simulated_clock.hpp"

#include <random>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::SimulatedClock;

namespace {

// A run whose attempts sleep in pieces, check the deadline before each, and fail occasionally.
struct Cooperative {
  std::mt19937_64 random;
  std::shared_ptr<SimulatedClock> clock = std::make_shared<SimulatedClock>();
  Duration last_sleep{0};
  int calls = 0;
  bool began_late = false;

  Duration up_to(Duration longest) {
    return Duration(
        static_cast<Duration::rep>(random() % static_cast<std::uint64_t>(longest.count() + 1)));
  }

  Result<int> attempt(Attempt& attempt) {
    ++calls;
    const TimePoint until = attempt.deadline().value();
    began_late = began_late || clock->now() >= until;
    last_sleep = Duration::zero();
    for (auto pieces = random() % 5; pieces > 0 && clock->now() < until; --pieces) {
      last_sleep = up_to(300ms);
      clock->sleep_until(clock->now() + last_sleep, attempt.stop_token());
      attempt.record_step({.action = "slept"});
    }
    if (random() % 8 == 0) return 1;
    Failure failure{.text = "503 Service Unavailable", .http_status = 503};
    if (random() % 3 == 0) failure.retry_after = up_to(2s);
    return attempt.fail(std::move(failure));
  }
};

}  // namespace

TEST_CASE("a deadline is passed by no more than the callable's own last sleep",
          "[deadline][property]") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  int ended_by_deadline = 0;
  for (std::uint64_t round = 0; round < 2'000; ++round) {
    INFO("round " << round);
    Cooperative work{.random = std::mt19937_64(seed + round)};
    FailurePolicy policy;
    policy.otherwise(
        retry_with_backoff({.max_attempts = 50, .base_delay = work.up_to(1s), .max_delay = 2s}));
    AgentOptions options{.limits = {.max_attempts = 50, .max_attempts_per_type = 50},
                         .clock = work.clock,
                         .random = seeded_random(seed + round)};
    if (round % 2 == 0) options.store = MemoryStore::create();
    if (round % 3 == 0) {
      options.gates = {RateLimiter::create({.permits = 1, .period = 700ms}).value()};
    }
    if (round % 5 == 0) options.expected_duration = 150ms;
    const TriageAgent agent{[&](int, Attempt& attempt) { return work.attempt(attempt); }, policy,
                            options};
    const TimePoint deadline = work.clock->now() + work.up_to(5s);
    const auto result = agent.run(0, {.deadline = deadline});
    const Duration overrun = work.clock->now() - deadline;
    REQUIRE_FALSE(work.began_late);
    REQUIRE(overrun.count() <= work.last_sleep.count());
    ended_by_deadline += !result && work.clock->now() >= deadline;
  }
  CHECK(ended_by_deadline > 0);
}

TEST_CASE("the time that an attempt waited at a gate is not learnt as its duration", "[deadline]") {
  // Makes the first one wait for a minute.
  struct Slow final : Gate {
    bool first = true;
    [[nodiscard]] std::string_view name() const noexcept override { return "slow"; }
    GateAnswer enter(const GateRequest& /*request*/) noexcept override {
      if (!std::exchange(first, false)) return {};
      return {.kind = GateAnswer::Kind::wait, .wait = 1min};
    }
    void leave(const GateRequest& /*request*/, std::uint64_t /*ticket*/,
               const GateOutcome* /*outcome*/) noexcept override {}
  };
  const auto clock = std::make_shared<SimulatedClock>();
  const TriageAgent agent{
      [&](int task) {
        clock->advance(1s);
        return task;
      },
      FailurePolicy(),
      {.clock = clock, .gates = {std::make_shared<Slow>()}, .learn_duration = true}};
  CHECK(agent.run(1, {.deadline = clock->now() + 10min}).value() == 1);
  CHECK(agent.run(2, {.deadline = clock->now() + 30s}).value() == 2);
}
