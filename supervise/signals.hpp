// SPDX-License-Identifier: MIT
#pragma once
// Signals of the supervisor: passed on to the child, or the end of a wait.

#include "supervise/file_descriptor.hpp"
#include "triage/result.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// Takes SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGWINCH from the process.
// While a child runs they go to its group; without one those that end a program stop the run. A
// child that ends after such a signal is not started again.
// One object a process, made before any other thread, so that all of them inherit the mask.
// Thread-safety: all members may be called from several threads at once.
class Signals {
 public:
  // Errors: Errc::io.
  [[nodiscard]] static Result<std::shared_ptr<Signals>> take();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // From now on the first signal that ends programs, SIGQUIT excepted, is not passed on, and stops
  // no run: whoever looks at the token begins no further one. The second one is handled as ever.
  void finish_at_first();
  [[nodiscard]] std::stop_token no_more() const { return no_more_.get_token(); }

  // What was blocked before: for children.
  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  // Readable when a child has changed its state.
  [[nodiscard]] int child_events() const noexcept { return child_events_.get(); }

  // Readable when a signal that ends programs has come: see clear_interrupts.
  [[nodiscard]] int interrupts() const noexcept { return told_.read.get(); }
  void clear_interrupts();

  // From now on signals go to this group, and the size of the terminal to `terminal` (-1: none).
  void begin(pid_t group, int terminal);
  // The child has ended. If a signal that ends programs came meanwhile, the run stops.
  void end();
  // The run is not to go on: the user has interrupted the child.
  void stop() { stop_.request_stop(); }
  // The newest signal that ends programs; 0: none came.
  [[nodiscard]] int ended_by() const noexcept { return ended_by_.load(); }

 private:
  Signals() = default;
  void watch(const std::stop_token& stop);
  void handle(int signal);

  sigset_t before_{};
  FileDescriptor events_{};
  FileDescriptor child_events_{};
  Pipe wake_{};
  Pipe told_{};
  std::stop_source stop_{};
  std::stop_source no_more_{};
  std::atomic<int> ended_by_{0};
  std::mutex mutex_{};
  bool finish_first_ = false;
  pid_t group_ = 0;
  int terminal_ = -1;
  std::jthread thread_{};
};

}  // namespace triage::inline v0_1::supervise
