// SPDX-License-Identifier: MIT
// The cost of simulated runs, and what an experiment adds to it.
#include "support/turns.hpp"
#include "triage/lab/experiment.hpp"
#include "triage/lab/experiment_file.hpp"
#include "triage/lab/simulation.hpp"
#include "triage/triage.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <ctime>
#include <stdexcept>

namespace triage::bench {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 21;
constexpr std::uint64_t seeds_a_round = 2'000;
constexpr std::uint64_t million = 1'000'000;

// An agent of ten one-second steps, on a store that outlives its process.
lab::Simulation ten_steps(bool swarm = false) {
  return lab::Simulation(
      [](lab::World& world) {
        world.start("agent", [](lab::Process& self) {
          const TriageAgent agent{[&self](int steps, Attempt& attempt) {
                                    for (int i = 0; i < steps; ++i) {
                                      self.work(1s);
                                      attempt.record_step({.action = "work"});
                                    }
                                    return steps;
                                  },
                                  FailurePolicy().otherwise(retry({.max_attempts = 3})),
                                  self.options({.name = "agent", .store = self.store()})};
          if (!self.run_or_resume(agent, "job", 10)) throw std::runtime_error("it did not finish");
        });
      },
      {.swarm = swarm, .audit = false});
}

// Nanoseconds of this thread's time per seed.
template <class Work>
double of_processor(std::uint64_t seeds, const Work& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double began = now();
  work();
  return (now() - began) / static_cast<double>(seeds);
}

void experiment_over_simulation(benchmark::State& state) {
  lab::Simulation bare = ten_steps();
  lab::Simulation tried = ten_steps();
  std::uint64_t first = 1;
  std::uint64_t events = 0;
  const auto trial = [&tried](const lab::Condition&, std::uint64_t seed) {
    const lab::SeedReport report = tried.run(seed);
    return lab::Sample{
        .success = !report.violation,
        .figures = {{"events", static_cast<double>(report.events)},
                    {"seconds", std::chrono::duration<double>(report.elapsed).count()}}};
  };
  for (auto _ : state) {
    const auto [alone, within] = by_turns(
        rounds,
        [&] {
          return of_processor(seeds_a_round, [&] {
            for (std::uint64_t i = 0; i < seeds_a_round; ++i) events += bare.run(first + i).events;
          });
        },
        [&] {
          return of_processor(seeds_a_round, [&] {
            const auto report = lab::run_experiment(trial, {.factors = {{"policy", {"one"}}},
                                                            .first_seed = first,
                                                            .seeds = seeds_a_round,
                                                            .threads = 1,
                                                            .store = MemoryStore::create()});
            if (!report) throw std::runtime_error(report.error().detail);
            first += seeds_a_round;
          });
        });
    state.counters["ratio"] = within / alone;
    state.counters["bare_us"] = alone / 1e3;
    state.counters["events_per_second"] =
        static_cast<double>(events) / (rounds * seeds_a_round) / (alone / 1e9);
  }
}
BENCHMARK(experiment_over_simulation)->Iterations(1);

// As `triage experiment` runs it, on two threads.
void million_runs(benchmark::State& state) {
  const auto what = lab::experiment_from_json(
      Json{{"experiment", "million"}, {"policies", {"none"}}, {"agent", {{"steps", 10}}}},
      [](const std::string& file) -> Result<Json> {
        return Error{Errc::not_found, file};
      });
  if (!what) throw std::runtime_error(what.error().detail);
  for (auto _ : state) {
    lab::ExperimentOptions options = what.value().options();
    options.seeds = million;
    options.threads = 2;
    const auto began = std::chrono::steady_clock::now();
    const double each = of_processor(million, [&] {
      const auto report =
          lab::run_experiment([&](const lab::Condition& one,
                                  std::uint64_t seed) { return what.value().trial(one, seed); },
                              options);
      if (!report || report.value().conditions.front().successes != million) {
        throw std::runtime_error("not all runs finished");
      }
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    state.counters["seconds"] = took.count();
    state.counters["cpu_seconds"] = each * million / 1e9;
  }
}
BENCHMARK(million_runs)->Iterations(1);

}  // namespace
}  // namespace triage::bench
