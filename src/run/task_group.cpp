// SPDX-License-Identifier: MIT
#include "triage/task_group.hpp"

namespace triage::inline v0_1 {

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
