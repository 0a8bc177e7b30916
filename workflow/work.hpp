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

// No more threads than this, however many jobs wait for something.
inline constexpr std::size_t most_threads = 1'024;

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
  // The calling job waits and does nothing meanwhile: until take_back(), another may be at work in
  // its place. Nothing happens with threads that the program gives.
  void lend();
  void take_back();
  // Runs a job or waits until one has ended, if any is left.
  void help();

 private:
  void serve();
  void grow();                                   // The caller holds mutex_, like the next.
  [[nodiscard]] bool has_room() const noexcept;  // For one more at work.
  void ended();

  const std::size_t most_;
  const std::shared_ptr<Threads> given_;
  mutable std::mutex mutex_{};
  std::condition_variable more_{};
  std::condition_variable done_{};
  std::deque<std::function<void()>> jobs_{};
  std::vector<std::jthread> threads_{};
  std::size_t idle_ = 0;
  std::size_t lent_ = 0;  // Jobs that wait, of `running_` and of the driver.
  std::size_t running_ = 0;
  std::size_t news_ = 0;  // Jobs that have ended since help() last returned.
  bool closing_ = false;
};

}  // namespace triage::inline v0_1::workflow::detail
