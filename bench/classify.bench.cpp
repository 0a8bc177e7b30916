// SPDX-License-Identifier: MIT
// What it costs to find out why an attempt failed: codes and rules, and with the text model.
#include "fuzz/hostile_failures.hpp"
#include "support/turns.hpp"
#include "triage/classifier.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

// Text of about `size` bytes, as a stack trace or a log: ordinary words, then what went wrong.
std::string padded(const std::string& end, std::size_t size) {
  static const std::string filler =
      "  at handler line 482: processed item 7 of 31, cache warm, continuing with next page\n";
  std::string text;
  while (text.size() + filler.size() + end.size() <= size) text += filler;
  return text + end;
}

// One failure for each way that a classification can take; the last one fits no rule.
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

// Percentile 50 over single classifications, each of them timed.
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

// The slowest of the shapes that the fuzzer makes, and how much longer twice the size takes: what
// is quadratic would show as 4.
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
      growth = std::max(growth, whole > 1 ? whole / half : 0);  // Less is noise.
    }
    state.counters["slowest_ms"] = slowest;
    state.counters["growth"] = growth;
  }
}
BENCHMARK(classify_hostile)->Iterations(1);

}  // namespace
}  // namespace triage::bench
