// SPDX-License-Identifier: MIT
// The cost of recording to a SQLite file, compared with raw prepared INSERTs of the same bytes.
#include "triage/stores/sqlite.hpp"
#include "support/raw_sqlite.hpp"
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

constexpr std::size_t count = 10'000;
constexpr int rounds = 3;

// Structured steps as a program has them that needs no trees: their JSON values as text.
struct WrittenStep {
  Step step{};
  std::string input{};
  std::string output{};
};
std::vector<WrittenStep> written_steps() {
  std::vector<WrittenStep> all;
  all.reserve(count);
  for (Step& step : make_steps(Shape::structured, count)) {
    WrittenStep& written = all.emplace_back();
    written.input = std::exchange(step.tool_input, nullptr).dump();
    written.output = std::exchange(step.tool_output, nullptr).dump();
    written.step = std::move(step);
  }
  return all;
}

Shape shape_of(std::int64_t argument) { return argument == 0 ? Shape::flat : Shape::structured; }

std::vector<std::string> encoded(Shape shape) {
  std::vector<std::string> bodies(count);
  for (std::size_t i = 0; i < count; ++i) detail::encode_step(make_step(shape, i), bodies[i]);
  return bodies;
}

struct Recorded {
  double caller = 0.0;  // Seconds in record_step.
  double all = 0.0;     // Until every step is durable and the log is checkpointed.
};

// Steps are created beforehand; a labelled checkpoint waits until all of them are stored.
template <class Steps, class Put>
Recorded record_each(const std::string& path, Steps steps, Put put, AgentOptions options) {
  auto store = SqliteStore::open(path).value();
  options.store = store;
  Recorded measured;
  const TriageAgent agent{[&](int, Attempt& attempt) {
                            const auto begin = Clock::now();
                            for (auto& step : steps) put(attempt, step);
                            measured.caller = seconds_since(begin);
                            attempt.checkpoint("all").value();
                            store->idle();
                            measured.all = seconds_since(begin);
                          },
                          FailurePolicy{}, std::move(options)};
  agent.run(0).value();
  return measured;
}

Recorded record(const std::string& path, Shape shape, AgentOptions options) {
  const auto put = [](Attempt& attempt, Step& step) { attempt.record_step(std::move(step)); };
  return record_each(path, make_steps(shape, count), put, std::move(options));
}

Recorded record_written(const std::string& path) {
  const auto put = [](Attempt& attempt, const WrittenStep& step) {
    attempt.record_step(step.step, {.tool_input = step.input, .tool_output = step.output});
  };
  return record_each(path, written_steps(), put, {});
}

void background(benchmark::State& state) {
  const Scratch scratch;
  const bool as_text = state.range(0) == 2;
  for (auto _ : state) {
    std::vector<double> caller;
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
      const std::string path = scratch.fresh("background.db");
      const Recorded measured =
          as_text ? record_written(path) : record(path, shape_of(state.range(0)), {});
      caller.push_back(measured.caller * 1e6 / count);
      all.push_back(measured.all * 1e6 / count);
    }
    state.counters["caller_us"] = median(std::move(caller));
    state.counters["all_us"] = median(std::move(all));
  }
}
BENCHMARK(background)->Arg(0)->Arg(1)->Arg(2)->Iterations(1);

// Baseline: the same steps as raw INSERTs, each in a transaction of its own.
void immediate(benchmark::State& state) {
  const Scratch scratch;
  const std::vector<std::string> bodies = encoded(Shape::flat);
  for (auto _ : state) {
    const auto [raw, all] = by_turns(
        rounds,
        [&] { return raw_insert_seconds(scratch.fresh("raw.db"), bodies, 1) * 1e6 / count; },
        [&] {
          return record(scratch.fresh("immediate.db"), Shape::flat,
                        {.write_mode = WriteMode::immediate})
                     .all *
                 1e6 / count;
        });
    state.counters["raw_us"] = raw;
    state.counters["all_us"] = all;
  }
}
BENCHMARK(immediate)->Iterations(1);

double append_seconds(const std::string& path, const std::vector<Record>& records,
                      std::size_t group) {
  auto store = SqliteStore::open(path).value();
  const std::span all(records);
  const auto begin = Clock::now();
  const Lease lease = store->start({.id = "run"}, {}).value();
  for (std::size_t at = 0; at < all.size(); at += group) {
    store->append(lease, all.subspan(at, std::min(group, all.size() - at)), RunStatus::running)
        .value();
  }
  store->idle();
  return seconds_since(begin);
}

// The store alone, with already encoded records.
void append(benchmark::State& state) {
  const auto group = static_cast<std::size_t>(state.range(0));
  const Scratch scratch;
  const std::vector<std::string> bodies = encoded(shape_of(state.range(1)));
  std::vector<Record> records;
  for (std::size_t i = 0; i < count; ++i) {
    records.emplace_back(i + 1, RecordKind::step, WallTime(),
                         std::make_shared<const std::string>(bodies[i]));
  }
  for (auto _ : state) {
    const auto [raw, ours] = by_turns(
        rounds, [&] { return raw_insert_seconds(scratch.fresh("raw.db"), bodies, group); },
        [&] { return append_seconds(scratch.fresh("ours.db"), records, group); });
    state.counters["raw_us"] = raw * 1e6 / count;
    state.counters["ours_us"] = ours * 1e6 / count;
    state.counters["ratio"] = raw / ours;
  }
}
BENCHMARK(append)->Args({64, 0})->Args({1'024, 0})->Args({64, 1})->Args({1'024, 1})->Iterations(1);

// From record_step to the folded file, all in one thread and with the baseline's groups.
void end_to_end(benchmark::State& state) {
  const auto group = static_cast<std::size_t>(state.range(0));
  const Shape shape = shape_of(state.range(1));
  const Scratch scratch;
  const std::vector<std::string> bodies = encoded(shape);
  for (auto _ : state) {
    const auto [raw, ours] = by_turns(
        rounds, [&] { return raw_insert_seconds(scratch.fresh("raw.db"), bodies, group); },
        [&] {
          return record(scratch.fresh("ours.db"), shape,
                        {.write_mode = WriteMode::deferred, .queue_capacity = group})
              .all;
        });
    state.counters["raw_us"] = raw * 1e6 / count;
    state.counters["ours_us"] = ours * 1e6 / count;
    state.counters["ratio"] = raw / ours;
  }
}
BENCHMARK(end_to_end)
    ->Args({64, 0})
    ->Args({1'024, 0})
    ->Args({64, 1})
    ->Args({1'024, 1})
    ->Iterations(1);

}  // namespace
}  // namespace triage::bench
