// SPDX-License-Identifier: MIT
#include "triage/task_group.hpp"

#include "run/attempt_pool.hpp"
#include "run/run.hpp"

namespace triage::inline v0_1 {

detail::CarriedThread::CarriedThread(const Attempt& attempt) : attempt_(attempt) {
  if (const AttemptUse use(attempt_); use) use.run().carry_thread(true);
}

detail::CarriedThread::~CarriedThread() {
  if (const AttemptUse use(attempt_); use) use.run().carry_thread(false);
}

TaskGroup::~TaskGroup() noexcept(false) {
  const bool unwinding = std::uncaught_exceptions() > exceptions_before_;
  if (unwinding) request_stop();
  wait();
  if (first_ && !unwinding) std::rethrow_exception(std::exchange(first_, nullptr));
}

void TaskGroup::join() {
  wait();
  if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
}

void TaskGroup::keep(std::exception_ptr thrown) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = std::move(thrown);
  }
  request_stop();
}

// A running thread may start further ones.
void TaskGroup::wait() noexcept {
  for (;;) {
    std::vector<std::thread> running;
    {
      const std::scoped_lock lock(mutex_);
      running.swap(threads_);
    }
    if (running.empty()) return;
    for (std::thread& thread : running) thread.join();
  }
}

}  // namespace triage::inline v0_1
