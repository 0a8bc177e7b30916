// SPDX-License-Identifier: MIT
#pragma once
// The threads of one run: the caller's own, a few more, or those that the program gives.

#include "triage/workflow/run.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

// Jobs are noexcept in effect: what they throw ends the process. One thread, the driver's, adds
// jobs and waits for what they have done.
class Work {
 public:
  // threads: 1 or more, the driver's included.
  Work(std::size_t threads, std::shared_ptr<Threads> given);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void add(std::function<void()> job);
  [[nodiscard]] bool has_jobs() const;  // That nobody has begun.
  // Runs a job or waits until one has ended, if any is left.
  void help();

 private:
  void serve();
  void ended();

  const std::size_t most_;
  const std::shared_ptr<Threads> given_;
  mutable std::mutex mutex_{};
  std::condition_variable more_{};
  std::condition_variable done_{};
  std::deque<std::function<void()>> jobs_{};
  std::vector<std::jthread> threads_{};
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  std::size_t news_ = 0;  // Jobs that have ended since help() last returned.
  bool closing_ = false;
};

}  // namespace triage::inline v0_1::workflow::detail
