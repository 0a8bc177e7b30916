// SPDX-License-Identifier: MIT
#pragma once
// The threads of one run: the caller's, a few more, or those supplied by the program.

#include "triage/workflow/run.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// The most threads, however many jobs are waiting.
inline constexpr std::size_t most_threads = 1'024;

// Jobs should not throw: an exception leaves help() if the driver ran the job, and otherwise ends
// the process. Jobs, too, may add jobs.
class Work {
 public:
  // threads: at least 1, including the driver's.
  Work(std::size_t threads, std::shared_ptr<Threads> given);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Whoever adds a job also runs one: the driver in help(), a job when it ends. Another thread is
  // woken only for further jobs, since that costs about ten times a small job.
  void add(std::function<void()> job);
  // The calling job only waits: until take_back(), another may run in its place. No effect with
  // threads supplied by the program.
  void lend();
  void take_back();
  // For the driver: runs jobs, and returns when none is left and none is running. With threads
  // supplied by the program, waits until one has ended if any is running.
  void help();

 private:
  using Lock = std::unique_lock<std::mutex>;
  void serve();
  [[nodiscard]] bool run_one(Lock& lock);         // False if none can begin.
  void grow();                                    // The caller holds mutex_, like the next five.
  void wake();                                    // Somebody for a job that can begin.
  [[nodiscard]] bool can_begin() const noexcept;  // There is a job, and room to run one more.
  [[nodiscard]] bool is_over() const noexcept;    // There is none, and none is running.
  void ended();

  const std::size_t most_;  // Besides the driver.
  const std::shared_ptr<Threads> given_;
  std::mutex mutex_{};
  std::condition_variable more_{};
  std::condition_variable done_{};  // For the driver.
  std::deque<std::function<void()>> jobs_{};
  std::vector<std::jthread> threads_{};
  std::size_t idle_ = 0;  // Of threads_.
  bool driver_waits_ = false;
  std::size_t lent_ = 0;  // Waiting jobs among `running_`.
  std::size_t running_ = 0;
  std::size_t news_ = 0;  // Jobs on the program's threads that have ended since help() returned.
  bool closing_ = false;
};

// The calling job only waits while this lives; a program's clock may throw.
class Lent {
 public:
  explicit Lent(Work& work) : work_(work) { work_.lend(); }
  ~Lent() { work_.take_back(); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  Work& work_;
};

}  // namespace triage::inline v0_1::workflow::detail
