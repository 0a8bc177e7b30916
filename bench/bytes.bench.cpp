// SPDX-License-Identifier: MIT
// What 10,000 auto-checkpointed steps take: memory, file, bytes written.
#include "support/allocations.hpp"
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <benchmark/benchmark.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

constexpr std::size_t count = 10'000;
constexpr double allowed_beside_each = 64.0;  // Bytes per step allowed on top of the ratio.

// Live memory of a run's journal after the last step, compared with the same steps in a vector
// without spare capacity.
void memory_of_steps(benchmark::State& state) {
  const Shape shape = state.range(0) == 0 ? Shape::flat : Shape::structured;
  std::size_t journal = 0;
  std::size_t alone = 0;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            const std::size_t before = heap().live_bytes;
                            std::vector<Step> steps = make_steps(shape, count);
                            alone = heap().live_bytes - before;
                            for (Step& step : steps) attempt.record_step(std::move(step));
                            std::vector<Step>().swap(steps);  // `steps = {}` keeps the capacity.
                            journal = heap().live_bytes - before;
                          },
                          FailurePolicy{}};
  for (auto _ : state) {
    agent.run(0).value();
    const double beside = allowed_beside_each * count;
    state.counters["alone_bytes"] = static_cast<double>(alone) / count;
    state.counters["journal_bytes"] = static_cast<double>(journal) / count;
    state.counters["ratio"] = (static_cast<double>(journal) - beside) / static_cast<double>(alone);
  }
}
BENCHMARK(memory_of_steps)->Arg(0)->Arg(1)->Iterations(1);

void file_of_steps(benchmark::State& state) {
  const Shape shape = state.range(0) == 0 ? Shape::flat : Shape::structured;
  const Scratch scratch;
  std::vector<Step> steps;
  const auto agent_on = [&](std::shared_ptr<CheckpointStore> store) {
    return TriageAgent{[&steps](int, Attempt& attempt) {
                         for (Step& step : steps) attempt.record_step(std::move(step));
                       },
                       FailurePolicy{},
                       {.store = std::move(store)}};
  };
  for (auto _ : state) {
    steps = make_steps(shape, count);
    const auto encoded = static_cast<double>(encoded_size(steps));
    const std::string path = scratch.fresh("steps.db");
    const std::size_t before = bytes_written();
    {
      auto store = SqliteStore::open(path).value();
      agent_on(store).run(0).value();
      store->idle();
    }  // Closing folds the rest of the log.
    state.counters["encoded_bytes"] = encoded;
    state.counters["file_ratio"] = static_cast<double>(std::filesystem::file_size(path)) / encoded;
    state.counters["written_ratio"] = static_cast<double>(bytes_written() - before) / encoded;
  }
}
BENCHMARK(file_of_steps)->Arg(0)->Arg(1)->Iterations(1);

}  // namespace
}  // namespace triage::bench
