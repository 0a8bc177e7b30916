// SPDX-License-Identifier: MIT
#pragma once
// The baseline of workflows: a thread pool with one queue.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace triage::bench {

class BarePool {
 public:
  explicit BarePool(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { serve(); });
  }
  ~BarePool() {
    {
      const std::scoped_lock lock(mutex_);
      closing_ = true;
    }
    more_.notify_all();
  }
  BarePool(const BarePool&) = delete;
  BarePool& operator=(const BarePool&) = delete;

  void add(std::function<void()> job) {
    bool notify = false;
    {
      const std::scoped_lock lock(mutex_);
      jobs_.push_back(std::move(job));
      notify = idle_ > 0;
    }
    if (notify) more_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      more_.wait(lock, [&] { return closing_ || !jobs_.empty(); });
      --idle_;
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_{};
  std::condition_variable more_{};
  std::deque<std::function<void()>> jobs_{};
  bool closing_ = false;
  std::size_t idle_ = 0;
  std::vector<std::jthread> threads_{};
};

}  // namespace triage::bench
