// SPDX-License-Identifier: MIT
#include "run_program.hpp"

#include "supervise/attempt/verdict.hpp"
#include "supervise/process/child.hpp"
#include "supervise/process/file_descriptor.hpp"
#include "supervise/process/leftovers.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

using supervise::Child;
using supervise::Pipe;

constexpr std::size_t most_output = 16U << 20U;
constexpr std::size_t error_tail = 4096;
constexpr int poll_milliseconds = 100;

struct Pipes {
  Pipe in{};
  Pipe out{};
  Pipe error{};
};

Result<Child> start(const ProgramRun& run, Pipes& pipes) {
  TRIAGE_TRY(program, supervise::find_program(run.command.front(), run.folder));
  TRIAGE_TRY(in, supervise::make_pipe());
  TRIAGE_TRY(out, supervise::make_pipe());
  TRIAGE_TRY(error, supervise::make_pipe());
  pipes.in = std::move(in);
  pipes.out = std::move(out);
  pipes.error = std::move(error);
  supervise::ChildPlan plan;
  plan.program = std::move(program);
  plan.arguments = run.command;
  plan.folder = run.folder;
  const std::string own = std::string(supervise::lineage_variable) + "=";
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with(own)) plan.environment.emplace_back(*one);
  }
  plan.environment.push_back(own + run.lineage);
  plan.in = pipes.in.read.get();
  plan.out = pipes.out.write.get();
  plan.error = pipes.error.write.get();
  ::sigemptyset(&plan.signals);
  TRIAGE_TRY(child, Child::fork_gated(plan));
  pipes.in.read.close();
  pipes.out.write.close();
  pipes.error.write.close();
  if (const auto gone = child.let_go(); !gone) {
    ::waitpid(child.pid(), nullptr, 0);
    return gone.error();
  }
  ::fcntl(pipes.in.write.get(), F_SETFL, O_NONBLOCK);
  return outcome::success(std::move(child));
}

// It is not reaped: its number stays its group's.
bool has_ended(pid_t pid) {
  siginfo_t ended{};
  const int found = ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT | WNOHANG);
  return found == 0 ? ended.si_pid == pid : errno != EINTR;
}

// Writes and reads until the program closes its output, or ends: what it has left running may keep
// its output open. False if it must be killed.
class Talk {
 public:
  Talk(const ProgramRun& run, pid_t pid, Pipes& pipes, ProgramEnd& end)
      : run_(run), pid_(pid), pipes_(pipes), end_(end) {}

  bool until_it_is_silent() {
    if (run_.in.empty()) pipes_.in.write.close();
    for (int left = most_blocks_left; (pipes_.out.read || pipes_.error.read) && left > 0;) {
      const bool ended = has_ended(pid_);
      if (ended) --left;
      end_.too_much = end_.out.size() > most_output;
      if (run_.stop.stop_requested() || end_.too_much) return false;
      if (run_.until && std::chrono::steady_clock::now() >= *run_.until) return false;
      std::array<pollfd, 3> files{pollfd{pipes_.out.read.get(), POLLIN, 0},
                                  pollfd{pipes_.error.read.get(), POLLIN, 0},
                                  pollfd{pipes_.in.write.get(), POLLOUT, 0}};
      const int ready = ::poll(files.data(), files.size(), ended ? 0 : poll_milliseconds);
      if (ready < 0 && errno != EINTR) return false;
      if (ended && (files[0].revents | files[1].revents) == 0) break;
      if (files[0].revents != 0) take(pipes_.out, end_.out);
      if (files[1].revents != 0) take(pipes_.error, end_.error_tail);
      if (files[2].revents != 0) give();
      if (end_.error_tail.size() > 2 * error_tail) {
        end_.error_tail.erase(0, end_.error_tail.size() - error_tail);
      }
    }
    return true;
  }

 private:
  static constexpr int most_blocks_left = 32;  // More than the largest pipe holds.

  static void take(Pipe& from, std::string& to) {
    std::array<char, 65'536> block{};
    const ssize_t got = ::read(from.read.get(), block.data(), block.size());
    if (got > 0) {
      to.append(block.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      from.read.close();
    }
  }

  void give() {
    const ssize_t put =
        ::write(pipes_.in.write.get(), run_.in.data() + given_, run_.in.size() - given_);
    if (put > 0) given_ += static_cast<std::size_t>(put);
    const bool refused = put < 0 && errno != EINTR && errno != EAGAIN;  // It ignores its input.
    if (refused || given_ == run_.in.size()) pipes_.in.write.close();
  }

  const ProgramRun& run_;
  const pid_t pid_;
  Pipes& pipes_;
  ProgramEnd& end_;
  std::size_t given_ = 0;
};

// A program may close its output and go on.
bool ends_in_time(const ProgramRun& run, pid_t pid) {
  while (!has_ended(pid)) {
    if (run.stop.stop_requested()) return false;
    if (run.until && std::chrono::steady_clock::now() >= *run.until) return false;
    ::poll(nullptr, 0, 10);
  }
  return true;
}

// Makes writing to a closed pipe an error instead of the end of this process.
class QuietPipes {
 public:
  QuietPipes() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~QuietPipes() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietPipes(const QuietPipes&) = delete;
  QuietPipes& operator=(const QuietPipes&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

Result<ProgramEnd> run_program(const ProgramRun& run) {
  Pipes pipes;
  TRIAGE_TRY(child, start(run, pipes));
  const QuietPipes quiet;
  ProgramEnd end;
  end.killed =
      !Talk(run, child.pid(), pipes, end).until_it_is_silent() || !ends_in_time(run, child.pid());
  if (end.killed) ::kill(-child.pid(), SIGKILL);
  int status = 0;
  while (::waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) continue;
  ::kill(-child.pid(), SIGKILL);  // Remaining processes of its group.
  end.status = supervise::shell_status(status);
  if (end.error_tail.size() > error_tail) {
    end.error_tail.erase(0, end.error_tail.size() - error_tail);
  }
  return outcome::success(std::move(end));
}

}  // namespace triage::inline v0_1::cli
