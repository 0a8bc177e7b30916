// SPDX-License-Identifier: MIT
#pragma once
// Threads that end before their callable does, and whose exceptions end its attempt instead of the
// process.

#include "triage/attempt.hpp"
#include "triage/detail/cancel_token.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

namespace detail {
// While it lives, what its thread throws is passed on to the attempt's.
class CarriedThread {
 public:
  explicit CarriedThread(const Attempt& attempt);
  ~CarriedThread();
  CarriedThread(const CarriedThread&) = delete;
  CarriedThread& operator=(const CarriedThread&) = delete;

 private:
  const Attempt& attempt_;
};
}  // namespace detail

//   TaskGroup group{attempt};
//   for (const Order& order : orders) group.start([&] { attempt.effect(order.key, …); });
//   group.join();
//
// A thread's function takes nothing or a std::stop_token. join() rethrows the first exception that
// left one, AttemptStopped included, in the calling thread; the other threads are asked to stop
// through their token, and their later exceptions are dropped. Cancelling the run triggers the
// token too, and so does AgentOptions::attempt_timeout, but not the end of the run's time: what has
// begun may finish. A function that ignores the token runs to its end.
// Thread-safety: the group's threads may call start() too; join() and the destructor belong to the
// thread that created the group.
class TaskGroup {
 public:
  explicit TaskGroup(const Attempt& attempt)
      : attempt_(attempt),
        cancelled_(detail::cancel_token(attempt), Forward{&stop_}),
        exceptions_before_(std::uncaught_exceptions()) {}
  // Joins and throws like join(). During stack unwinding, asks the threads to stop and throws
  // nothing.
  ~TaskGroup() noexcept(false);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Runs fn on a new thread; a copy of fn lives until it returns. Does nothing once the group was
  // asked to stop. Throws std::system_error if no thread can be created.
  template <class Fn>
  void start(Fn&& fn) {
    using Kept = std::decay_t<Fn>;
    static_assert(std::is_invocable_v<Kept&> || std::is_invocable_v<Kept&, std::stop_token>,
                  "triage: a thread's function takes nothing or a std::stop_token");
    run([kept = Kept(std::forward<Fn>(fn)), stop = stop_.get_token()]() mutable {
      if constexpr (std::is_invocable_v<Kept&, std::stop_token>) {
        static_cast<void>(kept(std::move(stop)));
      } else {
        static_cast<void>(kept());
      }
    });
  }
  // Waits for all threads and throws the first exception that left one. start() works afterwards.
  void join();
  void request_stop() noexcept { stop_.request_stop(); }
  // The token passed to the functions.
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

 private:
  struct Forward {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };

  template <class Call>
  void run(Call&& call) {
    const std::scoped_lock lock(mutex_);
    if (stop_.stop_requested()) return;
    threads_.emplace_back([this, call = std::forward<Call>(call)]() mutable noexcept {
      try {
        const detail::CarriedThread here(attempt_);
        call();
      } catch (...) {
        keep(std::current_exception());
      }
    });
  }
  void keep(std::exception_ptr thrown) noexcept;
  void wait() noexcept;

  const Attempt& attempt_;
  std::stop_source stop_{};
  std::stop_callback<Forward> cancelled_;
  int exceptions_before_;
  std::mutex mutex_{};
  std::vector<std::thread> threads_{};
  std::exception_ptr first_{};
};

}  // namespace triage::inline v0_1
