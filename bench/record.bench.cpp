// SPDX-License-Identifier: MIT
// The cost of record_step without a store, in short and long runs.
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/stores/memory.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

// Each round records at least this many steps, in as many runs as needed.
constexpr std::size_t steps_a_round = 20'000;

// The agent's task is a vector of steps that are moved in, so creating them is not measured.
// Baseline: moving them to the end of a std::vector.
void record_step(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::size_t runs = std::max<std::size_t>(1, steps_a_round / count);
  std::vector<Step> steps;
  const TriageAgent agent{[&steps](int, Attempt& attempt) {
                            const double begin = thread_seconds();
                            for (Step& step : steps) attempt.record_step(std::move(step));
                            return thread_seconds() - begin;
                          },
                          FailurePolicy{}};
  const auto append = [&] {
    std::vector<Step> kept;
    const double begin = thread_seconds();
    for (Step& step : steps) kept.push_back(std::move(step));
    return thread_seconds() - begin;
  };
  const auto each = [&](auto&& record) {
    double seconds = 0.0;
    for (std::size_t run = 0; run < runs; ++run) {
      steps = make_steps(Shape::flat, count);
      seconds += record();
    }
    return seconds * 1e9 / static_cast<double>(runs * count);
  };
  for (auto _ : state) {
    const auto [vector, recorded] = by_turns(
        3, [&] { return each(append); },
        [&] { return each([&] { return agent.run(0).value(); }); });
    state.counters["vector_ns"] = vector;
    state.counters["each_ns"] = recorded;
  }
}
// An effect with a recorded result, with and without arguments.
void effect_reused(benchmark::State& state) {
  constexpr long calls = 20'000;
  const bool with_arguments = state.range(0) != 0;
  const Json arguments{{"order", 42}, {"cents", 1999}, {"currency", "EUR"}};
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            long sum = 0;
                            const auto once = [&] {
                              sum += with_arguments
                                         ? attempt.effect("charge:42", arguments, [] { return 7; })
                                         : attempt.effect("charge:42", [] { return 7; });
                            };
                            once();
                            const double begin = thread_seconds();
                            for (long i = 0; i < calls; ++i) once();
                            benchmark::DoNotOptimize(sum);
                            return thread_seconds() - begin;
                          },
                          FailurePolicy{},
                          {.store = MemoryStore::create()}};
  for (auto _ : state) {
    const auto [each] =
        by_turns(9, [&] { return agent.run(0).value() * 1e6 / static_cast<double>(calls); });
    state.counters["each_us"] = each;
  }
}
BENCHMARK(effect_reused)->Arg(0)->Arg(1)->Iterations(1);

BENCHMARK(record_step)->Arg(100)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Iterations(1);

}  // namespace
}  // namespace triage::bench
