// SPDX-License-Identifier: MIT
// 10,000 runs open at once on one store.
#include "support/allocations.hpp"
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <benchmark/benchmark.h>

#include <barrier>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

constexpr std::size_t threads = 8;
constexpr std::size_t runs = 10'000;
constexpr std::size_t runs_a_thread = runs / threads;
constexpr std::size_t steps_a_run = 4;

using Agent = TriageAgent<std::function<int(const std::size_t&, Attempt&)>>;

// One thread's runs, each opened inside the previous one, so that all are open at once.
class Nest {
 public:
  Nest(std::shared_ptr<CheckpointStore> store,
       std::function<void(std::vector<Attempt*>&)> innermost)
      : innermost_(std::move(innermost)),
        agent_([this](const std::size_t& left, Attempt& attempt) { return open(left, attempt); },
               FailurePolicy{}, {.store = std::move(store)}) {}

  void run() { agent_.run(runs_a_thread).value(); }
  // Stack used per nested run.
  [[nodiscard]] std::size_t stack_a_run() const noexcept { return stack_a_run_; }

 private:
  int open(std::size_t left, Attempt& attempt) {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    stack_a_run_ = last_frame_ - here;
    last_frame_ = here;
    attempts_.push_back(&attempt);
    if (left > 1) {
      agent_.run(left - 1).value();
    } else {
      innermost_(attempts_);
    }
    return 0;
  }

  std::function<void(std::vector<Attempt*>&)> innermost_;
  std::vector<Attempt*> attempts_;
  std::uintptr_t last_frame_ = 0;
  std::size_t stack_a_run_ = 0;
  Agent agent_;
};

struct Measured {
  double seconds = 0.0;  // From the first record_step until all are durable.
  double bytes = 0.0;    // Heap and stack per run, without its encoded steps.
};

Measured record_in_many_runs(const std::shared_ptr<CheckpointStore>& store) {
  Measured measured;
  const std::size_t before = heap().live_bytes;
  std::vector<std::vector<Step>> steps(threads);
  for (auto& own : steps) own = make_steps(Shape::flat, runs_a_thread * steps_a_run);
  const std::size_t data = threads * encoded_size(steps[0]);
  std::size_t recorded = 0;
  Clock::time_point begin;
  std::size_t phase = 0;
  std::barrier together(threads, [&]() noexcept {
    if (phase == 0) begin = Clock::now();
    if (phase == 1) measured.seconds = seconds_since(begin);
    if (phase == 2) recorded = heap().live_bytes;
    ++phase;
  });
  std::vector<std::size_t> stack(threads);
  {
    std::vector<std::jthread> workers;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        Nest nest(store, [&, thread](std::vector<Attempt*>& attempts) {
          together.arrive_and_wait();
          auto step = steps[thread].begin();
          for (std::size_t round = 0; round < steps_a_run; ++round) {
            for (Attempt* attempt : attempts) attempt->record_step(std::move(*step++));
          }
          attempts.back()->checkpoint("all").value();  // Commits everything queued by all runs.
          together.arrive_and_wait();
          std::vector<Step>().swap(steps[thread]);
          together.arrive_and_wait();
        });
        nest.run();
        stack[thread] = nest.stack_a_run();
      });
    }
  }
  measured.bytes =
      static_cast<double>(recorded - before - data) / runs + static_cast<double>(stack[0]);
  return measured;
}

double record_in_one_run(const std::shared_ptr<CheckpointStore>& store) {
  std::vector<Step> steps = make_steps(Shape::flat, runs * steps_a_run);
  double seconds = 0.0;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            const auto begin = Clock::now();
                            for (Step& step : steps) attempt.record_step(std::move(step));
                            attempt.checkpoint("all").value();
                            seconds = seconds_since(begin);
                          },
                          FailurePolicy{},
                          {.store = store}};
  agent.run(0).value();
  return seconds;
}

void many_runs(benchmark::State& state) {
  const Scratch scratch;
  for (auto _ : state) {
    const double one = record_in_one_run(SqliteStore::open(scratch.fresh("one.db")).value());
    const Measured many = record_in_many_runs(SqliteStore::open(scratch.fresh("many.db")).value());
    constexpr double steps = runs * steps_a_run;
    state.counters["one_steps_a_second"] = steps / one;
    state.counters["many_steps_a_second"] = steps / many.seconds;
    state.counters["ratio"] = one / many.seconds;
    state.counters["bytes_a_run"] = many.bytes;
  }
}
BENCHMARK(many_runs)->Iterations(1);

}  // namespace
}  // namespace triage::bench
