// SPDX-License-Identifier: MIT
// The work of README.md in this folder, done by triage: peer_figures WORK COUNT [FILE]
#include "triage/triage.hpp"
#include "triage/policies/circuit_breaker.hpp"
#include "triage/stores/sqlite.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds_since(Clock::time_point begin) {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

double processor_nanoseconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

void timed(long count, const std::function<void()>& once) {
  for (long i = 0; i < count / 5; ++i) once();
  const double begin = processor_nanoseconds();
  for (long i = 0; i < count; ++i) once();
  std::cout << (processor_nanoseconds() - begin) / static_cast<double>(count) << '\n';
}

triage::FailurePolicy four_attempts() {
  return triage::FailurePolicy().otherwise(triage::retry({.max_attempts = 4}));
}

void retry_returned(long count) {
  const triage::TriageAgent agent{
      [](const int& task, triage::Attempt& attempt) -> triage::Result<int> {
        if (attempt.number() == 1) return attempt.fail({.text = "busy", .http_status = 503});
        return task;
      },
      four_attempts()};
  timed(count, [&] { (void)agent.run(2).value(); });
}

void retry_thrown(long count) {
  const triage::TriageAgent agent{[](const int& task, triage::Attempt& attempt) {
                                    if (attempt.number() == 1)
                                      throw std::runtime_error("HTTP 503 Service Unavailable");
                                    return task;
                                  },
                                  four_attempts()};
  timed(count, [&] { (void)agent.run(2).value(); });
}

void behind_breaker(long count) {
  const triage::TriageAgent agent{[](const int& task) { return task; },
                                  four_attempts(),
                                  {.gates = {triage::CircuitBreaker::create({}).value()}}};
  timed(count, [&] { (void)agent.run(2).value(); });
}

// Records steps from the first one that is missing; prints, after a resume, when that was reached.
int steps(const std::string& work, long count, const std::string& file) {
  const bool power = work != "steps-process";
  const auto begin = Clock::now();
  auto store = triage::SqliteStore::open(file, {.durability = power ? triage::Durability::power
                                                                    : triage::Durability::process})
                   .value();
  const triage::TriageAgent agent{
      [&](const int&, triage::Attempt& attempt) -> int {
        if (work == "resume") {
          std::cout << nanoseconds_since(begin) << '\n';
          return static_cast<int>(attempt.trajectory().size());
        }
        const auto first = Clock::now();
        for (long i = 0; i < count; ++i)
          attempt.record_step({.action = "fetch", .tool_output = std::string(900, 'x')});
        if (work == "prepare") ::_exit(0);
        std::cout << nanoseconds_since(first) / static_cast<double>(count) << '\n';
        return 0;
      },
      triage::FailurePolicy{},
      {.name = "peer", .store = store, .write_mode = triage::WriteMode::immediate}};
  const auto result = work == "resume" ? agent.resume_run("run") : agent.run(1, {.run_id = "run"});
  if (!result) std::cerr << result.error().detail << '\n';
  return result && (work != "resume" || result.value() == count) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string work = argv[1];
  const long count = std::stol(argv[2]);
  if (work == "retry")
    retry_returned(count);
  else if (work == "throw")
    retry_thrown(count);
  else if (work == "breaker")
    behind_breaker(count);
  else if (argc > 3)
    return steps(work, count, argv[3]);
  else
    return 2;
  return 0;
}
