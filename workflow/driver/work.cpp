// SPDX-License-Identifier: MIT
#include "work.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::workflow::detail {
namespace {

// Counts a job while it runs. If one throws, it must not count for ever: ~Work waits for all.
class Running {
 public:
  Running(std::unique_lock<std::mutex>& lock, std::size_t& count) : lock_(lock), count_(count) {
    ++count_;
  }
  ~Running() {
    if (!lock_.owns_lock()) lock_.lock();
    --count_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
  std::size_t& count_;
};

}  // namespace

Work::Work(std::size_t threads, std::shared_ptr<Threads> given)
    : most_(threads - 1), given_(std::move(given)) {}

Work::~Work() {
  {
    Lock lock(mutex_);
    closing_ = true;
    jobs_.clear();
    done_.wait(lock, [&] { return running_ == 0; });
  }
  more_.notify_all();
}

void Work::ended() {
  // Locked to the end: a waiting thread may destroy this once it is unlocked.
  const std::scoped_lock lock(mutex_);
  --running_;
  ++news_;
  done_.notify_one();
}

void Work::add(std::function<void()> job) {
  if (given_) {
    {
      const std::scoped_lock lock(mutex_);
      ++running_;
    }
    const auto run = [this, job = std::make_shared<const std::function<void()>>(std::move(job))] {
      (*job)();
      ended();
    };
    try {
      given_->start(run);
    } catch (...) {
      run();
    }
    return;
  }
  const std::scoped_lock lock(mutex_);
  if (closing_) return;
  jobs_.push_back(std::move(job));
  if (jobs_.size() > 1) wake();
}

bool Work::can_begin() const noexcept { return !jobs_.empty() && running_ < most_ + 1 + lent_; }
bool Work::is_over() const noexcept { return jobs_.empty() && running_ == 0; }

void Work::grow() {
  if (threads_.size() >= std::min(most_ + lent_, most_threads)) return;
  try {
    threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {  // The system allows no more threads; these must do.
    return;
  }
}

void Work::wake() {
  if (!can_begin()) return;
  if (driver_waits_) {
    done_.notify_one();
  } else if (idle_ > 0) {
    more_.notify_one();
  } else {
    grow();
  }
}

void Work::lend() {
  if (given_) return;
  const std::scoped_lock lock(mutex_);
  ++lent_;
  wake();
}

void Work::take_back() {
  if (given_) return;
  const std::scoped_lock lock(mutex_);
  --lent_;
}

bool Work::run_one(Lock& lock) {
  if (!can_begin()) return false;
  const Running running(lock, running_);  // Outlives the job, which goes while nothing is locked.
  const std::function<void()> job = std::move(jobs_.front());
  jobs_.pop_front();
  wake();  // Who woke this thread may have counted on it for several jobs.
  lock.unlock();
  job();
  return true;
}

void Work::serve() {
  Lock lock(mutex_);
  for (;;) {
    while (run_one(lock)) continue;
    if (is_over()) done_.notify_one();
    if (closing_) return;
    ++idle_;
    more_.wait(lock, [&] { return closing_ || can_begin(); });
    --idle_;
  }
}

void Work::help() {
  Lock lock(mutex_);
  if (given_) {
    done_.wait(lock, [&] { return news_ > 0 || running_ == 0; });
    news_ = 0;
    return;
  }
  for (;;) {
    while (run_one(lock)) continue;
    if (is_over()) return;
    driver_waits_ = true;
    done_.wait(lock, [&] { return can_begin() || is_over(); });
    driver_waits_ = false;
  }
}

}  // namespace triage::inline v0_1::workflow::detail
