// SPDX-License-Identifier: MIT
#include "triage/policies/backoff.hpp"

#include "support/catch.hpp"
#include "triage/testing/context.hpp"

#include <cmath>
#include <limits>

using namespace triage;
using namespace std::chrono_literals;
using triage::testing::context_for;
using Kind = RecoveryAction::Kind;

namespace {

const FailureType fault = FailureType::external_fault;

}  // namespace

TEST_CASE("without jitter the waits grow by the multiplier up to the cap", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff({.max_attempts = 9,
                                                .base_delay = 100ms,
                                                .max_delay = 1s,
                                                .multiplier = 3.0,
                                                .jitter = Jitter::none,
                                                .hint = "slowly"});
  const std::vector<Duration> expected{100ms, 300ms, 900ms, 1s, 1s};
  for (int earlier = 0; earlier < 5; ++earlier) {
    const RecoveryAction action = strategy(context_for(fault).after(earlier));
    CHECK(action.kind == Kind::retry);
    CHECK(action.delay == expected[static_cast<std::size_t>(earlier)]);
    CHECK(action.hint == "slowly");
  }
}

TEST_CASE("the wait grows with failures of the same type only", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff({.jitter = Jitter::none});
  CHECK(strategy(context_for(fault).after(4, FailureType::timeout)).delay == 500ms);
}

TEST_CASE("full jitter draws evenly between zero and the ceiling", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff({.max_attempts = 10, .base_delay = 1s});
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    INFO("seed " << seed);
    const auto random = seeded_random(seed);
    double sum = 0.0;
    Duration least = 2s;
    Duration most = 0s;
    constexpr int draws = 2000;
    for (int i = 0; i < draws; ++i) {
      const Duration wait =
          strategy(context_for(fault).after(1).random(unit_interval(random->next()))).delay;
      REQUIRE(wait >= 0s);
      REQUIRE(wait < 2s);
      sum += std::chrono::duration<double>(wait).count();
      least = std::min(least, wait);
      most = std::max(most, wait);
    }
    CHECK(std::abs(sum / draws - 1.0) < 0.06);  // Standard error 0.013.
    CHECK(least < 20ms);
    CHECK(most > 1980ms);
  }
}

TEST_CASE("the same random number gives the same wait", "[policies][backoff]") {
  const auto context = context_for(fault).random(0.25).build();
  CHECK(retry_with_backoff({.base_delay = 1s})(context).delay == 250ms);
}

TEST_CASE("a random number out of range never leads beyond the ceiling", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff({.base_delay = 1s});
  CHECK(strategy(context_for(fault).random(7.0)).delay == 1s);
  CHECK(strategy(context_for(fault).random(-1.0)).delay == 0s);
  CHECK(strategy(context_for(fault).random(std::nan(""))).delay == 0s);
}

TEST_CASE("no attempt number and no option makes the ceiling overflow", "[policies][backoff]") {
  constexpr int most = std::numeric_limits<int>::max();
  for (const int failure : {most, most - 1, 2000, 1025, 1024, 1023, 64, 63, 62}) {
    INFO("failure " << failure);
    CHECK(backoff_ceiling({}, failure) == 30s);
    CHECK(backoff_ceiling({.base_delay = 1ns, .max_delay = Duration::max(), .multiplier = 1e300},
                          failure) == Duration::max());
    CHECK(backoff_ceiling({.base_delay = 0ns}, failure) == 0ns);
    CHECK(backoff_ceiling({.base_delay = 1s, .multiplier = 1.0}, failure) == 1s);
  }
  CHECK(backoff_ceiling({.base_delay = Duration::max(), .max_delay = Duration::max()}, most) ==
        Duration::max());
  CHECK(backoff_ceiling({}, 1) == 500ms);
  CHECK(backoff_ceiling({}, 0) == 500ms);
  CHECK(backoff_ceiling({}, std::numeric_limits<int>::min()) == 500ms);
  CHECK(backoff_ceiling({.base_delay = 5s, .max_delay = 2s}, 1) == 2s);
}

TEST_CASE("the longest possible waits are drawn without overflow", "[policies][backoff]") {
  const Strategy strategy =
      retry_with_backoff({.base_delay = Duration::max(), .max_delay = Duration::max()});
  const double largest = unit_interval(~std::uint64_t{0});
  const Duration wait = strategy(context_for(fault).random(largest)).delay;
  CHECK(wait > 0s);
  CHECK(wait <= Duration::max());
}

TEST_CASE("backoff escalates at its limit, with strategy, type and limit in the message",
          "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff();
  CHECK(strategy(context_for(fault).after(3)).kind == Kind::retry);
  const RecoveryAction last = strategy(context_for(fault).after(4));
  CHECK(last.kind == Kind::escalate);
  CHECK_THAT(last.message, ContainsSubstring("retry_with_backoff") &&
                               ContainsSubstring("external_fault") &&
                               ContainsSubstring("max_attempts (5)"));
  CHECK(retry_with_backoff({.max_attempts = 1})(context_for(fault)).kind == Kind::escalate);
  constexpr int endless = std::numeric_limits<int>::max();
  CHECK(retry_with_backoff({.max_attempts = endless})(context_for(fault).after(10'000)).kind ==
        Kind::retry);
}

TEST_CASE("a retry is never made before the time the other side named", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff({.max_delay = 30s});
  for (const Duration named : {Duration(1s), Duration(31s), Duration(24h * 40)}) {
    CHECK(strategy(context_for(fault).retry_after(named).random(0.999)).delay == named);
  }
  // A longer backoff is unchanged; invalid values such as -1 are ignored.
  const Strategy plain = retry_with_backoff({.base_delay = 8s, .jitter = Jitter::none});
  CHECK(plain(context_for(fault).retry_after(1s)).delay == 8s);
  CHECK(plain(context_for(fault).retry_after(-1s)).delay == 8s);
}

TEST_CASE("a named time beyond the deadline escalates and says both", "[policies][backoff]") {
  const Strategy strategy = retry_with_backoff();
  const RecoveryAction late = strategy(context_for(fault).retry_after(24h * 3).remaining(90s));
  CHECK(late.kind == Kind::escalate);
  CHECK_THAT(late.message, ContainsSubstring("external_fault") &&
                               ContainsSubstring("retry_after is 3d") &&
                               ContainsSubstring("1m30s"));
  CHECK(strategy(context_for(fault).retry_after(90s).remaining(90s)).delay == 90s);
  CHECK(strategy(context_for(fault).retry_after(2s).remaining(-1s)).kind == Kind::escalate);
}

TEST_CASE("every option of backoff is part of its description", "[policies][backoff]") {
  CHECK(retry_with_backoff().description() ==
        "retry_with_backoff(max_attempts=5, base_delay=500ms, max_delay=30s, multiplier=2, "
        "jitter=full)");
  CHECK(
      retry_with_backoff({.multiplier = 1.1, .jitter = Jitter::none, .hint = "h"}).description() ==
      "retry_with_backoff(max_attempts=5, base_delay=500ms, max_delay=30s, multiplier=1.1, "
      "jitter=none, hint=\"h\")");
}

TEST_CASE("backoff reports options that make no sense", "[policies][backoff]") {
  const auto problem = [](BackoffOptions options) { return retry_with_backoff(options).problem(); };
  CHECK(problem({}).empty());
  CHECK(problem({.max_attempts = 0}) == "max_attempts is 0; allowed is 1 or more");
  CHECK(problem({.base_delay = -5ms}) == "base_delay is -5ms; allowed is 0s or more");
  CHECK(problem({.max_delay = Duration::min()}).rfind("max_delay is -106751d", 0) == 0);
  CHECK(problem({.multiplier = 0.99}) ==
        "multiplier is 0.99; allowed is a finite number, 1 or more");
  CHECK(problem({.multiplier = std::nan("")}).rfind("multiplier is nan", 0) == 0);
  CHECK(problem({.multiplier = HUGE_VAL}).rfind("multiplier is inf", 0) == 0);
}
