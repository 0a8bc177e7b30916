// SPDX-License-Identifier: MIT
// The cost of a call without chaos, with idle chaos, and with rules for other places.
#include "triage/lab/chaos.hpp"
#include "support/turns.hpp"

#include <benchmark/benchmark.h>

namespace triage::bench {
namespace {

constexpr int rounds = 301;
constexpr long calls = 10'000;

// Returns a Result, as most calls through chaos do. Not inlined, or the bare call would vanish.
[[gnu::noinline]] Result<int> work(int number) {
  asm volatile("" ::: "memory");
  return number + 1;
}

template <class Kind>
void chaotic_call(benchmark::State& state, const Kind& chaos) {
  int number = 1;
  benchmark::DoNotOptimize(number);
  long sum = 0;
  const auto call = [&] { return work(number); };
  for (auto _ : state) {
    const auto [bare, behind] = by_turns(
        rounds, [&] { return nanoseconds_each(calls, [&] { sum += call().assume_value(); }); },
        [&] {
          return nanoseconds_each(calls, [&] { sum += chaos.call("a", call).assume_value(); });
        });
    state.counters["bare_ns"] = bare;
    state.counters["over_ns"] = behind - bare;
  }
  benchmark::DoNotOptimize(sum);
}

void chaos_left_out(benchmark::State& state) { chaotic_call(state, lab::NoChaos()); }
BENCHMARK(chaos_left_out)->Iterations(1);

void chaos_idle(benchmark::State& state) { chaotic_call(state, lab::Chaos()); }
BENCHMARK(chaos_idle)->Iterations(1);

void chaos_elsewhere(benchmark::State& state) {
  chaotic_call(state, lab::Chaos({.rules = {{.site = "b", .rate = 0.1}}}));
}
BENCHMARK(chaos_elsewhere)->Iterations(1);

}  // namespace
}  // namespace triage::bench
