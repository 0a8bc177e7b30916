// SPDX-License-Identifier: MIT
#include "work.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

Work::Work(std::size_t threads, std::shared_ptr<Threads> given)
    : most_(threads - 1), given_(std::move(given)) {}

Work::~Work() {
  {
    std::unique_lock lock(mutex_);
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
  jobs_.push_back(std::move(job));
  // The driver takes one of them.
  if (jobs_.size() > idle_ + 1) {
    grow();
  } else if (idle_ > 0) {
    more_.notify_one();
  }
}

bool Work::has_room() const noexcept { return running_ < most_ + lent_; }

void Work::grow() {
  if (threads_.size() < std::min(most_ + lent_, most_threads)) {
    try {
      threads_.emplace_back([this] { serve(); });
      return;
    } catch (const std::system_error&) {  // The system allows no more: those there are have to do.
    }
  }
  if (idle_ > 0) more_.notify_one();
}

void Work::wake() {
  if (jobs_.empty() || !has_room()) return;
  if (idle_ > 0) {
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

void Work::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    more_.wait(lock, [&] { return closing_ || (!jobs_.empty() && has_room()); });
    --idle_;
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    // Who woke this thread may have counted on it for several jobs.
    wake();
    lock.unlock();
    job();
    lock.lock();
    --running_;
    ++news_;
    done_.notify_one();
  }
}

bool Work::has_jobs() const {
  const std::scoped_lock lock(mutex_);
  return !jobs_.empty();
}

void Work::help() {
  std::unique_lock lock(mutex_);
  if (!jobs_.empty() && running_ <= most_ + lent_) {  // Its own place is one more.
    const std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    return;
  }
  done_.wait(lock, [&] { return news_ > 0 || running_ == 0; });
  news_ = 0;
}

void Work::wait() {
  lend();
  {
    std::unique_lock lock(mutex_);
    if (!given_ && threads_.empty() && !jobs_.empty()) {  // Nobody else ever takes a job.
      --lent_;
      lock.unlock();
      return help();
    }
    done_.wait(lock, [&] { return news_ > 0 || (running_ == 0 && jobs_.empty()); });
    news_ = 0;
  }
  take_back();
}

}  // namespace triage::inline v0_1::workflow::detail
