// SPDX-License-Identifier: MIT
// The cost of classifying a failure: by codes and rules, and with the text model.
#include "fuzz/hostile_failures.hpp"
#include "support/turns.hpp"
#include "triage/classifier.hpp"

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

// Text of about `size` bytes, like a stack trace or a log: ordinary words, then the error.
std::string padded(const std::string& end, std::size_t size) {
  static const std::string filler =
      "  at handler line 482: processed item 7 of 31, cache warm, continuing with next page\n";
  std::string text;
  while (text.size() + filler.size() + end.size() <= size) text += filler;
  return text + end;
}

// One failure for each path through the classifier; the last one matches no rule.
std::vector<Failure> failures(std::size_t size) {
  std::vector<Failure> all;
  all.push_back({.text = padded("the server said no", size), .http_status = 503});
  all.push_back({.text = padded("HTTP/1.1 429 Too Many Requests, Retry-After: 20", size)});
  all.push_back({.text = padded("read failed: Connection reset by peer", size),
                 .exception_type = "std::system_error"});
  all.push_back({.text = padded("KeyError: 'price'", size), .exception_type = "KeyError"});
  all.push_back({.text = padded("the flux did not balance", size)});
  return all;
}

struct FirstCost {
  double milliseconds = 0;
  double heap_mb = 0;
  double resident_mb = 0;
};

double resident_mb() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// In a child, because a process classifies for the first time only once.
FirstCost first_cost(const Failure& failure) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const ::pid_t child = ::fork();
  FirstCost cost;
  if (child == 0) {
    const Trajectory none;
    const double resident = resident_mb();
    const auto heap = ::mallinfo2();
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(
        default_classifier()->classify({.failure = failure, .trajectory = none}));
    cost.milliseconds = seconds_since(begin) * 1e3;
    const auto now = ::mallinfo2();
    cost.heap_mb =
        static_cast<double>(now.uordblks + now.hblkhd - heap.uordblks - heap.hblkhd) / 1e6;
    cost.resident_mb = resident_mb() - resident;
    const auto written = ::write(ends[1], &cost, sizeof cost);
    ::_exit(written == sizeof cost ? 0 : 1);
  }
  ::close(ends[1]);
  const bool whole = ::read(ends[0], &cost, sizeof cost) == sizeof cost;
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return whole ? cost : FirstCost{};
}

// Before all others, because a child inherits what this process has already initialised.
void first_failure(benchmark::State& state, const Failure& failure) {
  for (auto _ : state) {
    std::vector<double> milliseconds;
    FirstCost cost;
    for (int i = 0; i < 41; ++i) {
      cost = first_cost(failure);
      milliseconds.push_back(cost.milliseconds);
    }
    state.counters["p50_ms"] = median(std::move(milliseconds));
    state.counters["heap_mb"] = cost.heap_mb;
    state.counters["resident_mb"] = cost.resident_mb;
  }
}
BENCHMARK_CAPTURE(first_failure, text, Failure{.text = "HTTP 503 Service Unavailable"})
    ->Iterations(1);
BENCHMARK_CAPTURE(first_failure, code, Failure{.http_status = 503})->Iterations(1);

// The median of individually timed classifications.
void classify_1_kb(benchmark::State& state, Classifier& classifier) {
  constexpr int times = 2'000;
  const Trajectory none;
  const std::vector<Failure> all = failures(1'024);
  for (auto _ : state) {
    std::vector<double> each;
    for (int i = 0; i < times; ++i) {
      for (const Failure& failure : all) {
        const auto begin = Clock::now();
        benchmark::DoNotOptimize(classifier.classify({.failure = failure, .trajectory = none}));
        each.push_back(seconds_since(begin) * 1e6);
      }
    }
    state.counters["p99_us"] = percentile(each, 0.99);
    state.counters["p50_us"] = median(std::move(each));
  }
}

void classify_1_kb_by_rules(benchmark::State& state) {
  RulesClassifier classifier;
  classify_1_kb(state, classifier);
}
BENCHMARK(classify_1_kb_by_rules)->Name("classify_1_kb")->Iterations(1);

void classify_1_kb_by_all(benchmark::State& state) { classify_1_kb(state, *default_classifier()); }
BENCHMARK(classify_1_kb_by_all)->Iterations(1);

// A coloured log line around an answer in JSON around a traceback.
std::string dressed(std::size_t size) {
  std::string trace = "Traceback (most recent call last):\n";
  const std::string frame =
      "  File \"/srv/agent/tools/search.py\", line 88, in invoke\n    return "
      "self.client.get(url)\n";
  const std::string words =
      "agent.errors.ToolError: the search service could not be reached: rate limit exceeded";
  while (trace.size() + frame.size() + words.size() + 220 <= size) trace += frame;
  const Json body{{"error", {{"message", trace + words}, {"code", nullptr}}}};
  return "2026-03-04T10:11:12.123Z \x1b[31mERROR\x1b[0m [worker-3] agent.runner - " + body.dump() +
         " request_id=4f2a91bc duration=120ms";
}

void classify_dressed(benchmark::State& state) {
  constexpr int times = 5'000;
  const Trajectory none;
  const Failure failure{.text = dressed(1'024)};
  for (auto _ : state) {
    std::vector<double> each;
    for (int i = 0; i < times; ++i) {
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(
          default_classifier()->classify({.failure = failure, .trajectory = none}));
      each.push_back(seconds_since(begin) * 1e6);
    }
    state.counters["p50_us"] = median(std::move(each));
  }
}
BENCHMARK(classify_dressed)->Iterations(1);

void classify_10_mb(benchmark::State& state) {
  Classifier& classifier = *default_classifier();
  const Trajectory none;
  const std::vector<Failure> all = failures(10 << 20);
  for (auto _ : state) {
    double slowest = 0.0;
    for (const Failure& failure : all) {
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(classifier.classify({.failure = failure, .trajectory = none}));
      slowest = std::max(slowest, seconds_since(begin) * 1e3);
    }
    state.counters["slowest_ms"] = slowest;
  }
}
BENCHMARK(classify_10_mb)->Iterations(1);

// The slowest of the fuzzer's shapes, and how much longer twice the size takes; quadratic time
// would show as 4.
void classify_hostile(benchmark::State& state) {
  Classifier& classifier = *default_classifier();
  const auto milliseconds = [&](const test::HostileShape& shape, std::size_t size) {
    const test::HostileFailure hostile = shape.make(size, "a");
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(test::classify_hostile(hostile, classifier));
      best = std::min(best, seconds_since(begin) * 1e3);
    }
    return best;
  };
  for (auto _ : state) {
    double slowest = 0.0;
    double growth = 0.0;
    for (const test::HostileShape& shape : test::hostile_shapes) {
      const double half = milliseconds(shape, 5U << 20U);
      const double whole = milliseconds(shape, 10U << 20U);
      slowest = std::max(slowest, whole);
      growth = std::max(growth, whole > 1 ? whole / half : 0);  // Shorter times are noise.
    }
    state.counters["slowest_ms"] = slowest;
    state.counters["growth"] = growth;
  }
}
BENCHMARK(classify_hostile)->Iterations(1);

}  // namespace
}  // namespace triage::bench
