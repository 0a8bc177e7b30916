// SPDX-License-Identifier: MIT
#include "supervise/process/signals.hpp"

#include "triage/detail/try.hpp"

#include <array>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::array passed_on{SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                               SIGUSR1, SIGUSR2, SIGTSTP, SIGWINCH};

bool ends_programs(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// By the caller, as nohup(1) does, or a shell for what it starts in the background.
bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

void fail_at_file_limit() noexcept {
  if (!is_ignored(SIGXFSZ)) ::signal(SIGXFSZ, [](int) {});
}

Result<std::shared_ptr<Signals>> Signals::take() {
  std::shared_ptr<Signals> taken(new Signals());
  sigset_t ours;
  ::sigemptyset(&ours);
  for (const int signal : passed_on) {
    if (!is_ignored(signal)) ::sigaddset(&ours, signal);
  }
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  sigset_t blocked = ours;
  ::sigaddset(&blocked, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &taken->before_);
  ::signal(SIGPIPE, SIG_IGN);
  fail_at_file_limit();
  TRIAGE_TRY(wake, make_pipe());
  taken->wake_ = std::move(wake);
  TRIAGE_TRY(told, make_pipe());
  taken->told_ = std::move(told);
  taken->events_ = FileDescriptor(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  taken->child_events_ = FileDescriptor(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!taken->events_ || !taken->child_events_) return system_error("signals cannot be read");
  taken->thread_ =
      std::jthread([self = taken.get()](const std::stop_token& stop) { self->watch(stop); });
  return outcome::success(std::move(taken));
}

Signals::~Signals() {
  thread_.request_stop();
  static_cast<void>(!::write(wake_.write.get(), "x", 1));
}

void Signals::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> waited{pollfd{events_.get(), POLLIN, 0},
                                 pollfd{wake_.read.get(), POLLIN, 0}};
    if (::poll(waited.data(), waited.size(), -1) < 0) continue;
    handle_pending();
  }
}

void Signals::handle_pending() {
  const std::scoped_lock lock(mutex_);  // Nobody sees a signal as taken but not yet handled.
  signalfd_siginfo info{};
  while (::read(events_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    handle(static_cast<int>(info.ssi_signo));
  }
}

void Signals::handle(int signal) {
  if (finish_first_ && ends_programs(signal) && signal != SIGQUIT) {
    finish_first_ = false;
    no_more_.request_stop();
    return;
  }
  if (ends_programs(signal)) {
    ended_by_ = signal;
    static_cast<void>(!::write(told_.write.get(), "x", 1));
  }
  if (group_ <= 0) {
    if (ends_programs(signal)) stop_.request_stop();
    if (signal == SIGTSTP) stop_here();
    return;
  }
  if (signal == SIGWINCH) {
    winsize size{};
    if (terminal_ >= 0 && ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
      ::ioctl(terminal_, TIOCSWINSZ, &size);
    }
    return;
  }
  if (ends_programs(signal)) passed_on_ = signal;
  // A program with a terminal of its own leads a session of its own, where SIGTSTP does nothing.
  ::kill(-group_, signal == SIGTSTP && terminal_ >= 0 ? SIGSTOP : signal);
  // Both stop, and continue together. Sent to the whole process, another thread might take it, and
  // this one would go on for a moment.
  if (signal == SIGTSTP) stop_here();
  // One that is stopped would not hear of its end.
  if (signal == SIGTSTP || ends_programs(signal)) ::kill(-group_, SIGCONT);
}

void Signals::stop_here() {
  const TimePoint before = real_clock()->now();
  ::raise(SIGSTOP);
  stopped_for_ += real_clock()->now() - before;
}

void Signals::finish_at_first() {
  const std::scoped_lock lock(mutex_);
  finish_first_ = true;
}

void Signals::clear_interrupts() {
  char byte = 0;
  static_cast<void>(!::read(told_.read.get(), &byte, 1));
}

void Signals::begin(pid_t group, int terminal) {
  const std::scoped_lock lock(mutex_);
  group_ = group;
  terminal_ = terminal;
  passed_on_ = ended_by_.load();
  if (ended_by_ != 0) ::kill(-group_, ended_by_);
}

void Signals::end() {
  const std::scoped_lock lock(mutex_);
  group_ = 0;
  terminal_ = -1;
  if (ended_by_ != 0) stop_.request_stop();
}

}  // namespace triage::inline v0_1::supervise
