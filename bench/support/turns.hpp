// SPDX-License-Identifier: MIT
#pragma once
// Alternating measurements: a baseline and what is compared with it run A B A B …, so that
// disturbances of the machine affect both.

#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace triage::bench {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Processor time of this thread in seconds, which excludes other programs on the machine. For work
// that never waits.
[[nodiscard]] inline double thread_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

[[nodiscard]] inline double percentile(std::vector<double> values, double part) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}
[[nodiscard]] inline double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

// Runs every arm once per round and returns each one's median. An arm returns its measurement.
template <class... Arms>
[[nodiscard]] std::array<double, sizeof...(Arms)> by_turns(int rounds, Arms&&... arms) {
  std::array<std::vector<double>, sizeof...(Arms)> measured;
  for (int round = 0; round < rounds; ++round) {
    std::size_t arm = 0;
    (measured[arm++].push_back(arms()), ...);
  }
  std::array<double, sizeof...(Arms)> medians{};
  std::transform(measured.begin(), measured.end(), medians.begin(), median);
  return medians;
}

// Nanoseconds per call, over `calls` calls.
template <class F>
[[nodiscard]] double nanoseconds_each(long calls, F&& call) {
  const auto begin = Clock::now();
  for (long i = 0; i < calls; ++i) call();
  return seconds_since(begin) * 1e9 / static_cast<double>(calls);
}

}  // namespace triage::bench
