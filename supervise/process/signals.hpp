// SPDX-License-Identifier: MIT
#pragma once
// The supervisor's signals: passed on to the child, or ending a wait.

#include "supervise/process/file_descriptor.hpp"
#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include <sys/types.h>

namespace triage::inline v0_1::supervise {

// From now on a write beyond the limit of a file's size (`ulimit -f`) fails instead of ending this
// process. What it executes starts as before.
void fail_at_file_limit() noexcept;

// Takes over SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP and SIGWINCH, except those
// that are ignored. While a child runs they go to its group; otherwise those that end a program
// stop the run. A child that ends after such a signal is not restarted. One object per process,
// created before any other thread, so that all inherit the mask. Thread-safety: all members may be
// called from several threads at once.
class Signals {
 public:
  // Errors: Errc::io.
  [[nodiscard]] static Result<std::shared_ptr<Signals>> take();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // From now on the first terminating signal except SIGQUIT is not passed on and stops no run, but
  // requests a stop of no_more(), so that no further run begins. The second is handled normally.
  void finish_at_first();
  [[nodiscard]] std::stop_token no_more() const { return no_more_.get_token(); }

  // Handles every signal that was sent before this call; otherwise a thread does so, soon.
  void handle_pending();

  // The signals blocked before, for children.
  [[nodiscard]] const sigset_t& before() const noexcept { return before_; }
  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  // Readable when a child's state has changed.
  [[nodiscard]] int child_events() const noexcept { return child_events_.get(); }

  // Readable after a terminating signal: see clear_interrupts.
  [[nodiscard]] int interrupts() const noexcept { return told_.read.get(); }
  void clear_interrupts();

  // Passes signals to this group, and the terminal's size to `terminal` (-1: none).
  void begin(pid_t group, int terminal);
  // The child has ended. Stops the run if a terminating signal came meanwhile.
  void end();
  // The run must not continue: the user interrupted the child.
  void stop() { stop_.request_stop(); }
  // How long this process has been stopped by SIGTSTP, in all.
  [[nodiscard]] Duration stopped_for() {
    const std::scoped_lock lock(mutex_);
    return stopped_for_;
  }
  // The newest terminating signal; 0: none.
  [[nodiscard]] int ended_by() const noexcept { return ended_by_.load(); }
  // The newest one that went to the newest child.
  [[nodiscard]] int newest_passed() const noexcept { return passed_on_.load(); }

 private:
  Signals() = default;
  void watch(const std::stop_token& stop);
  void handle(int signal);  // Requires mutex_.
  void stop_here();         // Likewise.

  sigset_t before_{};
  FileDescriptor events_{};
  FileDescriptor child_events_{};
  Pipe wake_{};
  Pipe told_{};
  std::stop_source stop_{};
  std::stop_source no_more_{};
  std::atomic<int> ended_by_{0};
  std::atomic<int> passed_on_{0};
  std::mutex mutex_{};
  bool finish_first_ = false;
  Duration stopped_for_{0};
  pid_t group_ = 0;
  int terminal_ = -1;
  std::jthread thread_{};
};

}  // namespace triage::inline v0_1::supervise
