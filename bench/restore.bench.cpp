// SPDX-License-Identifier: MIT
// How soon a run of 10,000 steps continues from its file.
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <sqlite3.h>

#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace triage::bench {
namespace {

constexpr std::size_t count = 10'000;

// A run that recorded `count` steps and a state, and then failed for good; every 10th step changed
// the state.
void make_run(const std::shared_ptr<CheckpointStore>& store, const RunId& id) {
  const TriageAgent agent{[](const std::string&, Attempt& attempt) -> Result<int> {
                            for (std::size_t i = 0; i < count; ++i) {
                              attempt.record_step(make_step(Shape::flat, i));
                              if (i % 10 == 0) {
                                attempt.update_state({{"page", i}, {"url", "https://example.org"}});
                              }
                            }
                            return attempt.fail({.text = "enough", .type = FailureType::timeout});
                          },
                          FailurePolicy{},
                          {.name = "restore", .store = store}};
  static_cast<void>(agent.run("task", {.run_id = id}));
  store->idle();
}

// Baseline of "all steps": decodes the bodies of all steps in order, without checksums or journal.
double scan_and_decode(const std::string& path) {
  sqlite3* raw = nullptr;
  if (sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    throw std::runtime_error("opening " + path);
  }
  sqlite3_stmt* scan = nullptr;
  const auto begin = Clock::now();
  sqlite3_prepare_v2(raw, "SELECT body FROM records WHERE run = 1 AND kind = 3 ORDER BY seq", -1,
                     &scan, nullptr);
  std::vector<Step> steps;
  while (sqlite3_step(scan) == SQLITE_ROW) {
    const std::string_view body(static_cast<const char*>(sqlite3_column_blob(scan, 0)),
                                static_cast<std::size_t>(sqlite3_column_bytes(scan, 0)));
    steps.push_back(detail::decode_step(body).value());
  }
  const double seconds = seconds_since(begin);
  sqlite3_finalize(scan);
  sqlite3_close(raw);
  if (steps.size() != count) throw std::runtime_error("the baseline found too few steps");
  return seconds;
}

void restore_state(benchmark::State& state) {
  const Scratch scratch;
  auto store = SqliteStore::open(scratch.fresh("restore.db")).value();
  make_run(store, "run");
  const CheckpointId newest = store->latest("run").value().info.id;
  for (auto _ : state) {
    const auto [seconds] = by_turns(21, [&] {
      const auto begin = Clock::now();
      benchmark::DoNotOptimize(store->load_state(newest).value());
      return seconds_since(begin);
    });
    state.counters["ms"] = seconds * 1e3;
  }
}
BENCHMARK(restore_state)->Iterations(1);

// From the call of resume_run to the entry of the callable, on a store as it is open in a newly
// started process.
void resume(benchmark::State& state) {
  const Scratch scratch;
  const std::string path = scratch.fresh("resume.db");
  make_run(SqliteStore::open(path).value(), "run");
  Clock::time_point entered;
  for (auto _ : state) {
    const auto [seconds] = by_turns(5, [&] {
      const TriageAgent agent{
          [&](const std::string&, Attempt& attempt) -> Result<int> {
            entered = Clock::now();
            return attempt.fail({.text = "again", .type = FailureType::timeout});
          },
          FailurePolicy{},
          {.name = "restore", .store = SqliteStore::open(path).value()}};
      const auto begin = Clock::now();
      static_cast<void>(agent.resume_run("run"));
      return std::chrono::duration<double>(entered - begin).count();
    });
    state.counters["ms"] = seconds * 1e3;
  }
}
BENCHMARK(resume)->Iterations(1);

void restore_all_steps(benchmark::State& state) {
  const Scratch scratch;
  const std::string path = scratch.fresh("steps.db");
  make_run(SqliteStore::open(path).value(), "run");
  for (auto _ : state) {
    const auto [baseline, ours] = by_turns(
        5, [&] { return scan_and_decode(path); },
        [&] {
          auto store = SqliteStore::open(path).value();
          const auto begin = Clock::now();
          const Checkpoint newest = store->latest("run").value();
          std::size_t bytes = 0;
          for (const Step& step : newest.trajectory) bytes += step.action.size();
          benchmark::DoNotOptimize(bytes);
          return seconds_since(begin);
        });
    state.counters["baseline_ms"] = baseline * 1e3;
    state.counters["ours_ms"] = ours * 1e3;
    state.counters["ratio"] = ours / baseline;
  }
}
BENCHMARK(restore_all_steps)->Iterations(1);

}  // namespace
}  // namespace triage::bench
