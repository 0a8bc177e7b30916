// SPDX-License-Identifier: MIT
// The cost of a run that records nothing, and of a failure that is retried.
#include "support/allocations.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/policies/retry.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace triage::bench {
namespace {

// Rounds are short, so that most of them are undisturbed on a busy machine.
constexpr int rounds = 301;
constexpr long calls = 10'000;

[[gnu::noinline]] int work(const std::string& task, int number) {
  asm volatile("" ::: "memory");
  return static_cast<int>(task.size()) + number;
}

FailurePolicy five_policies() {
  FailurePolicy policy;
  policy.on(FailureType::external_fault, retry())
      .on(FailureType::timeout, retry())
      .on(FailureType::loop_detected, retry())
      .on(FailureType::schema_mismatch, retry())
      .on(FailureType::unknown, retry());
  return policy;
}

class CountingObserver final : public Observer {
 public:
  void on_event(const Event& event) override { count_ += static_cast<long>(event.kind); }

 private:
  long count_ = 0;
};

void report_over(benchmark::State& state, double bare, double run) {
  state.counters["bare_ns"] = bare;
  state.counters["run_ns"] = run;
  state.counters["over_ns"] = run - bare;
}

void plain_run(benchmark::State& state) {
  const std::string task = "https://example.org";
  int number = 1;
  benchmark::DoNotOptimize(number);
  const TriageAgent agent{[&number](const std::string& url, Attempt&) { return work(url, number); },
                          five_policies()};
  long sum = agent.run(task).value();
  for (auto _ : state) {
    const std::size_t before = heap().allocations;
    const double count = nanoseconds_each(calls, [&] { sum += agent.run(task).assume_value(); });
    state.counters["allocations"] = static_cast<double>(heap().allocations - before) / calls;
    benchmark::DoNotOptimize(count);
    const auto [bare, run] = by_turns(
        rounds, [&] { return nanoseconds_each(calls, [&] { sum += work(task, number); }); },
        [&] { return nanoseconds_each(calls, [&] { sum += agent.run(task).assume_value(); }); });
    report_over(state, bare, run);
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(plain_run)->Iterations(1);

void guarded_run(benchmark::State& state) {
  const std::string task = "https://example.org";
  int number = 1;
  benchmark::DoNotOptimize(number);
  const TriageAgent agent{[&number](const std::string& url, Attempt&) { return work(url, number); },
                          five_policies(),
                          {.observer = std::make_shared<CountingObserver>()}};
  const std::stop_source source;
  const RunOptions options{.deadline = Clock::now() + std::chrono::hours(1),
                           .stop_token = source.get_token()};
  long sum = 0;
  for (auto _ : state) {
    const auto [bare, run] = by_turns(
        rounds, [&] { return nanoseconds_each(calls, [&] { sum += work(task, number); }); },
        [&] {
          return nanoseconds_each(calls, [&] { sum += agent.run(task, options).assume_value(); });
        });
    report_over(state, bare, run);
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(guarded_run)->Iterations(1);

// A circuit breaker in front of a run that has a deadline.
void breaker_run(benchmark::State& state) {
  const std::string task = "https://example.org";
  int number = 1;
  benchmark::DoNotOptimize(number);
  const TriageAgent agent{[&number](const std::string& url, Attempt&) { return work(url, number); },
                          five_policies(),
                          {.gates = {CircuitBreaker::create().value()}}};
  const RunOptions options{.deadline = Clock::now() + std::chrono::hours(1)};
  long sum = 0;
  for (auto _ : state) {
    const auto [bare, run] = by_turns(
        rounds, [&] { return nanoseconds_each(calls, [&] { sum += work(task, number); }); },
        [&] {
          return nanoseconds_each(calls, [&] { sum += agent.run(task, options).assume_value(); });
        });
    report_over(state, bare, run);
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(breaker_run)->Iterations(1);

// A complete run that fails once and then succeeds.
enum class Fails : std::uint8_t { returned, thrown, returned_to_nobody };

void fail_once(benchmark::State& state, Fails how) {
  constexpr long runs = 300;
  int number = 1;
  benchmark::DoNotOptimize(number);
  FailurePolicy policy;
  policy.otherwise(
      Strategy("again", [](const FailureContext&) { return RecoveryAction::retry(); }));
  const TriageAgent agent{
      [&](int task, Attempt& attempt) -> Result<int> {
        if (attempt.number() > 1) return task + number;
        if (how == Fails::thrown) throw std::runtime_error("it did not work");
        return attempt.fail({.http_status = 503});
      },
      policy,
      {.classifier = how == Fails::returned_to_nobody ? no_classifier() : default_classifier()}};
  long sum = agent.run(1).value();
  for (auto _ : state) {
    const auto [each] = by_turns(rounds, [&] {
      return nanoseconds_each(runs, [&] { sum += agent.run(1).assume_value(); });
    });
    state.counters["us"] = each / 1e3;
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK_CAPTURE(fail_once, returned, Fails::returned)->Iterations(1);
BENCHMARK_CAPTURE(fail_once, thrown, Fails::thrown)->Iterations(1);
BENCHMARK_CAPTURE(fail_once, unclassified, Fails::returned_to_nobody)->Iterations(1);

// From a returned failure to the entry of the next attempt: runs with this many failures, compared
// with runs without any.
void failing_attempt(benchmark::State& state) {
  constexpr long runs = 300;
  const auto failures = static_cast<int>(state.range(0));
  const std::string task = "https://example.org";
  int wanted = 0;
  FailurePolicy policy;
  policy.otherwise(
      Strategy("again", [](const FailureContext&) { return RecoveryAction::retry(); }));
  const TriageAgent agent{[&wanted](const std::string& url, Attempt& attempt) -> Result<int> {
                            if (attempt.number() <= wanted) {
                              return attempt.fail({.text = "no", .http_status = 503});
                            }
                            return work(url, attempt.number());
                          },
                          policy,
                          {.classifier = no_classifier()}};
  long sum = 0;
  const auto measure = [&](int count) {
    wanted = count;
    return nanoseconds_each(runs, [&] { sum += agent.run(task).assume_value(); });
  };
  for (auto _ : state) {
    const auto [without, with] = by_turns(
        rounds, [&] { return measure(0); }, [&] { return measure(failures); });
    state.counters["each_us"] = (with - without) / 1e3 / failures;
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(failing_attempt)->Arg(1)->Arg(4)->Iterations(1);

}  // namespace
}  // namespace triage::bench
