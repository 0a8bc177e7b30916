// SPDX-License-Identifier: MIT
#include "triage/budget.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"

#include <limits>
#include <thread>
#include <vector>

using namespace triage;

namespace {

std::shared_ptr<Budget> budget(const BudgetLimits& limits, std::shared_ptr<Budget> parent = {}) {
  return Budget::create(limits, std::move(parent)).value();
}

Usage dollars(double cost) { return {.cost_usd = cost}; }

}  // namespace

TEST_CASE("a call that cannot fit is not started", "[budget]") {
  const auto money = budget({.max_cost_usd = 1.0});
  auto first = money->reserve(dollars(0.7));
  REQUIRE_OK(first);
  const auto second = money->reserve(dollars(0.4));
  CHECK_ERRC(Errc::exhausted, second);
  CHECK(second.error().detail ==
        "the budget allows no call with 0.400000 USD: 0.700000 of 1.000000 are spent or reserved");
  first.value().settle(dollars(0.5));
  REQUIRE(money->reserve(dollars(0.4)).has_value());
}

TEST_CASE("a reservation that is not settled spent nothing", "[budget]") {
  const auto tokens = budget({.max_tokens = 100});
  REQUIRE(tokens->reserve({.input_tokens = 60, .output_tokens = 40}).has_value());
  REQUIRE(tokens->reserve({.input_tokens = 100}).has_value());
  CHECK(tokens->spent().tokens() == 0);
}

TEST_CASE("a limit is passed by one call at most", "[budget]") {
  const auto money = budget({.max_cost_usd = 1.0});
  int calls = 0;
  for (int i = 0; i < 100; ++i) {
    auto reserved = money->reserve(dollars(0.01));  // Each actually costs thirty times as much.
    if (!reserved) break;
    ++calls;
    reserved.value().settle(dollars(0.3));
  }
  CHECK(calls == 4);
  CHECK(money->spent().cost_usd <= 1.3);
}

TEST_CASE("a nested budget draws from its parent", "[budget]") {
  const auto parent = budget({.max_calls = 3});
  const auto child = budget({.max_calls = 2}, parent);
  auto one = child->reserve({});
  auto two = child->reserve({});
  REQUIRE_OK(one);
  REQUIRE_OK(two);
  CHECK_ERRC(Errc::exhausted, child->reserve({}));
  auto three = parent->reserve({});
  REQUIRE_OK(three);
  CHECK_ERRC(Errc::exhausted, parent->reserve({}));
  one.value().settle({});
  CHECK(parent->spent().calls == 1);
  SECTION("what it refuses is not taken from the parent") {
    const auto strict = budget({.max_tokens = 1}, parent);
    CHECK_ERRC(Errc::exhausted, strict->reserve({.input_tokens = 5, .calls = 0}));
    two.value().settle({.calls = 0});
    three.value().settle({.calls = 0});
    REQUIRE(parent->reserve({.calls = 2}).has_value());
  }
}

TEST_CASE("threads never reserve more than there is", "[budget]") {
  const auto calls = budget({.max_calls = 1'000});
  std::atomic<int> passed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int call = 0; call < 500; ++call) {
          auto reserved = calls->reserve({});
          if (!reserved) continue;
          reserved.value().settle({});
          ++passed;
        }
      });
    }
  }
  CHECK(passed == 1'000);
}

TEST_CASE("budgets and estimates that make no sense are refused", "[budget]") {
  CHECK_ERRC(Errc::invalid_argument, Budget::create({.max_cost_usd = -1.0}));
  const auto money = budget({.max_cost_usd = 1.0});
  CHECK_ERRC(Errc::invalid_argument, money->reserve(dollars(-1.0)));
  CHECK_ERRC(Errc::invalid_argument,
             money->reserve(dollars(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("a budget that parent and child have in common is charged once", "[budget]") {
  const auto shared = budget({.max_calls = 10});
  const auto left = budget({}, shared);
  const auto right = budget({}, shared);
  const std::vector<std::vector<std::shared_ptr<Budget>>> chains{{shared, shared},
                                                                 {left, shared},
                                                                 {shared, left},
                                                                 {left, right},
                                                                 {left, nullptr, right, left}};
  std::uint64_t expected = 0;
  for (const auto& chain : chains) {
    auto reserved = Budget::reserve(chain, {});
    REQUIRE_OK(reserved);
    reserved.value().settle({});
    CHECK(shared->spent().calls == ++expected);
  }
  CHECK_ERRC(Errc::exhausted, Budget::reserve(chains[1], {.calls = 6}));
  REQUIRE(shared->reserve({.calls = 5}).has_value());  // Nothing of it was reserved.
}

TEST_CASE("a cost that is no amount counts as the estimate", "[budget]") {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double cost : {std::numeric_limits<double>::quiet_NaN(), infinite, -infinite, -1.0}) {
    const auto money = budget({.max_cost_usd = 1.0});
    int calls = 0;
    for (; calls < 100; ++calls) {
      auto reserved = money->reserve(dollars(0.9));
      if (!reserved) break;
      reserved.value().settle(dollars(cost));
    }
    CHECK(calls == 1);
    CHECK(money->spent().cost_usd == 0.9);
    money->add(dollars(cost));
    CHECK(money->spent().cost_usd == 0.9);
  }
}

TEST_CASE("sums of what was spent stop at the largest value", "[budget]") {
  constexpr std::uint64_t half = std::uint64_t{1} << 63U;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  Usage sum{.input_tokens = half, .output_tokens = half, .cost_usd = 1e308, .calls = half};
  CHECK(sum.tokens() == most);
  sum += sum;
  CHECK(sum == Usage{.input_tokens = most,
                     .output_tokens = most,
                     .cost_usd = std::numeric_limits<double>::max(),
                     .calls = most});
  const auto tokens = budget({.max_tokens = 1'000});
  tokens->add({.input_tokens = half});
  tokens->add({.input_tokens = half});
  CHECK_ERRC(Errc::exhausted, tokens->reserve({.input_tokens = 1}));
  const auto fresh = budget({.max_tokens = 1'000});
  CHECK_ERRC(Errc::exhausted, fresh->reserve({.input_tokens = half, .output_tokens = half}));
}
