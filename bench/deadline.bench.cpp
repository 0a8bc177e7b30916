// SPDX-License-Identifier: MIT
// How far a cooperative callable overruns its deadline, compared with a bare loop with the same
// sleeps. On the real clock, so mostly the system's wake-up latency is measured.
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/policies/retry.hpp"

#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

namespace triage::bench {
namespace {

constexpr int runs = 10'000;
constexpr auto one_sleep = std::chrono::microseconds(500);

// Of varying length, so that the deadline falls anywhere in the last sleep.
std::chrono::microseconds time_allowed(int run) {
  return std::chrono::microseconds(500 + run * 37 % 500);
}

// Sleeps in pieces until the deadline, like a polling client.
void sleep_in_pieces(Clock::time_point until) {
  while (Clock::now() < until) std::this_thread::sleep_for(one_sleep);
}

double microseconds_past(Clock::time_point until) { return seconds_since(until) * 1e6; }

void deadline_overrun(benchmark::State& state) {
  FailurePolicy policy;
  policy.otherwise(retry({.max_attempts = 1'000}));
  const TriageAgent agent{[](int, Attempt& attempt) -> Result<int> {
                            sleep_in_pieces(*attempt.deadline());
                            return attempt.fail({.text = "503", .http_status = 503});
                          },
                          policy};
  for (auto _ : state) {
    std::vector<double> bare;
    std::vector<double> run;
    for (int i = 0; i < runs; ++i) {
      const auto by = Clock::now() + time_allowed(i);
      sleep_in_pieces(by);
      bare.push_back(microseconds_past(by));
      const auto deadline = Clock::now() + time_allowed(i);
      benchmark::DoNotOptimize(agent.run(0, {.deadline = deadline}).has_value());
      run.push_back(microseconds_past(deadline));
    }
    state.counters["bare_p50_us"] = median(bare);
    state.counters["run_p50_us"] = median(run);
    state.counters["bare_p99_us"] = percentile(bare, 0.99);
    state.counters["run_p99_us"] = percentile(run, 0.99);
    state.counters["ratio"] = percentile(run, 0.99) / percentile(bare, 0.99);
  }
}
BENCHMARK(deadline_overrun)->Iterations(1);

}  // namespace
}  // namespace triage::bench
