// SPDX-License-Identifier: MIT
// The time until one step is durable.
#include "support/scratch.hpp"
#include "support/steps.hpp"
#include "support/turns.hpp"
#include "triage/agent.hpp"
#include "triage/stores/sqlite.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace triage::bench {
namespace {

// A preallocated file: the minimum cost of one fsync.
class Preallocated {
 public:
  static constexpr std::size_t block = 4'096;
  static constexpr std::size_t blocks = 1'024;

  explicit Preallocated(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        bytes_(block, 'x') {
    check(file_);
    for (std::size_t i = 0; i < blocks; ++i) write(i);
    check(::fsync(file_));
  }
  ~Preallocated() { ::close(file_); }
  Preallocated(const Preallocated&) = delete;
  Preallocated& operator=(const Preallocated&) = delete;

  void write_and_sync(std::size_t index) {
    write(index % blocks);
    check(::fdatasync(file_));
  }

 private:
  void write(std::size_t index) {
    const auto at = static_cast<::off_t>(index * block);
    check(static_cast<int>(::pwrite(file_, bytes_.data(), block, at)));
  }
  static void check(int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "the baseline's file");
  }

  int file_;
  std::string bytes_;
};

struct Drains {
  std::vector<double> each_us;
  std::vector<double> baseline_us;
};

// Records steps one by one, each durable on return, alternating with the baseline. `warm_up`: the
// log has already reached its full size and is being overwritten, as in a store in use.
Drains record_one_by_one(const std::string& path, Durability level, std::size_t count, bool warm_up,
                         Preallocated* baseline) {
  auto store = SqliteStore::open(path, {.durability = level}).value();
  Drains measured;
  const TriageAgent agent{
      [&](int, Attempt& attempt) {
        if (warm_up) {
          for (int i = 0; i < 18; ++i) {
            attempt.record_step({.action = "load", .tool_output = std::string(1 << 20, 'x')});
          }
        }
        for (std::size_t i = 0; i < count; ++i) {
          Step step = make_step(Shape::flat, i);
          auto begin = Clock::now();
          attempt.record_step(std::move(step));
          measured.each_us.push_back(seconds_since(begin) * 1e6);
          if (baseline == nullptr) continue;
          begin = Clock::now();
          baseline->write_and_sync(i);
          measured.baseline_us.push_back(seconds_since(begin) * 1e6);
        }
      },
      FailurePolicy{},
      {.store = store, .write_mode = WriteMode::immediate}};
  agent.run(0).value();
  return measured;
}

void drain_process(benchmark::State& state) {
  const Scratch scratch;
  for (auto _ : state) {
    Drains drains =
        record_one_by_one(scratch.fresh("process.db"), Durability::process, 2'000, false, nullptr);
    state.counters["p99_us"] = percentile(drains.each_us, 0.99);
    state.counters["p50_us"] = median(std::move(drains.each_us));
  }
}
BENCHMARK(drain_process)->Iterations(1);

void drain_power(benchmark::State& state) {
  const Scratch scratch;
  Preallocated baseline(scratch.fresh("baseline"));
  for (auto _ : state) {
    Drains drains = record_one_by_one(scratch.fresh("power.db"), Durability::power, 300,
                                      state.range(0) != 0, &baseline);
    const double fsync = median(std::move(drains.baseline_us));
    const double drain = median(std::move(drains.each_us));
    state.counters["fsync_us"] = fsync;
    state.counters["drain_us"] = drain;
    state.counters["ratio"] = drain / fsync;
  }
}
BENCHMARK(drain_power)->Arg(0)->Arg(1)->Iterations(1);

}  // namespace
}  // namespace triage::bench
