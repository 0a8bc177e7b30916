// SPDX-License-Identifier: MIT
#pragma once
// Threads of a callable that end before it does, and whose exceptions end its attempt, not the
// process.

#include "triage/attempt.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

//   TaskGroup group{attempt};
//   for (const Order& order : orders) group.start([&] { attempt.effect(order.key, …); });
//   group.join();
//
// A thread's function takes nothing or a std::stop_token. The first exception that leaves one,
// AttemptStopped as any other, is thrown again by join(), in the thread that calls it; the others
// are asked to stop through their token, and what they throw then is dropped. The token is
// triggered, too, when the run is cancelled. A function that does not look at it runs to its end.
// Thread-safety: start() may be called by the threads of the group as well; join() and the
// destructor are for the thread that made it.
class TaskGroup {
 public:
  explicit TaskGroup(const Attempt& attempt)
      : cancelled_(attempt.stop_token(), Forward{&stop_}),
        exceptions_before_(std::uncaught_exceptions()) {}
  // Joins, and throws as join() does unless an exception is on its way already: the threads are
  // then asked to stop.
  ~TaskGroup() noexcept(false);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Runs fn on a thread of its own; a copy of it lives until it has returned. Nothing is started
  // once the group was asked to stop. Throws std::system_error if there can be no further thread.
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
  // Waits for all threads, and throws the first exception that left one. More may be started after.
  void join();
  void request_stop() noexcept { stop_.request_stop(); }
  // What the functions get.
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
        call();
      } catch (...) {
        keep(std::current_exception());
      }
    });
  }
  void keep(std::exception_ptr thrown) noexcept;
  void wait() noexcept;

  std::stop_source stop_{};
  std::stop_callback<Forward> cancelled_;
  int exceptions_before_;
  std::mutex mutex_{};
  std::vector<std::thread> threads_{};
  std::exception_ptr first_{};
};

}  // namespace triage::inline v0_1
