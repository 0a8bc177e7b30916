// SPDX-License-Identifier: MIT
// Runs in several threads on one store, each waiting for every step to be durable.
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <benchmark/benchmark.h>

#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace triage::bench {
namespace {

// Seconds for `count` steps in total, in one run per thread.
double record_immediately(const std::shared_ptr<CheckpointStore>& store, std::size_t threads,
                          std::size_t count) {
  std::vector<std::vector<Step>> steps(threads);
  for (auto& own : steps) own = make_steps(Shape::flat, count / threads);
  Clock::time_point begin;
  double seconds = 0.0;
  bool begun = false;
  std::barrier together(static_cast<std::ptrdiff_t>(threads), [&]() noexcept {
    if (begun) seconds = seconds_since(begin);
    begun = true;
    begin = Clock::now();
  });
  {
    std::vector<std::jthread> workers;
    for (std::vector<Step>& own : steps) {
      workers.emplace_back([&] {
        const TriageAgent agent{[&](int, Attempt& attempt) {
                                  together.arrive_and_wait();
                                  for (Step& step : own) attempt.record_step(std::move(step));
                                  together.arrive_and_wait();
                                },
                                FailurePolicy{},
                                {.store = store, .write_mode = WriteMode::immediate}};
        agent.run(0).value();
      });
    }
  }
  return seconds;
}

void waiting_threads(benchmark::State& state) {
  const Scratch scratch;
  const auto threads = static_cast<std::size_t>(state.range(0));
  const Durability level = state.range(1) == 0 ? Durability::process : Durability::power;
  const std::size_t steps = level == Durability::process ? 16'000 : 2'000;
  const auto open = [&](const std::string& name) {
    return SqliteStore::open(scratch.fresh(name), {.durability = level}).value();
  };
  for (auto _ : state) {
    const double one = record_immediately(open("one.db"), 1, steps);
    const double many = record_immediately(open("many.db"), threads, steps);
    state.counters["one_steps_a_second"] = static_cast<double>(steps) / one;
    state.counters["many_steps_a_second"] = static_cast<double>(steps) / many;
    state.counters["ratio"] = one / many;
  }
}
BENCHMARK(waiting_threads)->Args({2, 0})->Args({4, 0})->Args({8, 0})->Args({8, 1})->Iterations(1);

}  // namespace
}  // namespace triage::bench
