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

// Jobs are in effect noexcept: an exception ends the process. One thread, the driver's, adds jobs
// and waits for their results.
class Work {
 public:
  // threads: at least 1, including the driver's.
  Work(std::size_t threads, std::shared_ptr<Threads> given);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void add(std::function<void()> job);
  [[nodiscard]] bool has_jobs() const;  // Not yet begun.
  // The calling job only waits: until take_back(), another may run in its place. No effect with
  // threads supplied by the program.
  void lend();
  void take_back();
  // Runs a job, or waits until one has ended if any is running. A job may take long, and the driver
  // does nothing else meanwhile; handing a job to another thread costs some ten times as much.
  void help();
  // Waits until a job has ended, and lends its place meanwhile.
  void wait();

 private:
  void serve();
  void grow();                                   // The caller holds mutex_, like the next two.
  void wake();                                   // Somebody for a job that can begin.
  [[nodiscard]] bool has_room() const noexcept;  // To run one more.
  void ended();

  const std::size_t most_;
  const std::shared_ptr<Threads> given_;
  mutable std::mutex mutex_{};
  std::condition_variable more_{};
  std::condition_variable done_{};
  std::deque<std::function<void()>> jobs_{};
  std::vector<std::jthread> threads_{};
  std::size_t idle_ = 0;
  std::size_t lent_ = 0;  // Waiting jobs among `running_` and the driver.
  std::size_t running_ = 0;
  std::size_t news_ = 0;  // Jobs that have ended since help() last returned.
  bool closing_ = false;
};

}  // namespace triage::inline v0_1::workflow::detail
