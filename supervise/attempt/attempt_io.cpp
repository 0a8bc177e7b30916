// SPDX-License-Identifier: MIT
#include "supervise/attempt/attempt_io.hpp"

#include "supervise/process/leftovers.hpp"
#include "supervise/process/passage.hpp"
#include "supervise/process/terminal.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

namespace triage::inline v0_1::supervise {
namespace {

// How often the kernel has killed a process of this control group for want of memory; 0 where that
// cannot be seen. Source: the kernel's admin-guide/cgroup-v2, memory.events.
std::uint64_t memory_kills() {
  std::ifstream own("/proc/self/cgroup");
  std::string line;
  while (std::getline(own, line)) {
    if (!line.starts_with("0::")) continue;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string name;
    for (std::uint64_t number = 0; events >> name >> number;) {
      if (name == "oom_kill") return number;
    }
  }
  return 0;
}

std::string unwritten(const Passage* stream, const std::string& name) {
  if (stream == nullptr || stream->lost_by() == 0) return {};
  return "standard " + name + " could not be written: " + std::strerror(stream->lost_by());
}

}  // namespace

struct AttemptIo::Streams {
  std::optional<Terminal> terminal{};
  std::unique_ptr<Passage> out{};
  std::unique_ptr<Passage> error{};
  std::unique_ptr<Passage> screen{};  // The child's terminal, if it is neither of them.
  std::unique_ptr<Passage> keys{};    // From our terminal to the child's.
  FileDescriptor nothing{};           // The child's standard input in the background.
  Pipe out_pipe{};
  Pipe error_pipe{};
  std::uint64_t memory_kills = 0;
};

AttemptIo::AttemptIo(const RunSpec& spec, Options options)
    : spec_(spec),
      signals_(std::move(options.signals)),
      clock_(std::move(options.clock)),
      on_out_(std::move(options.on_out)),
      on_trouble_(std::move(options.on_trouble)),
      has_effects_(std::move(options.has_effects)),
      streams_(std::make_unique<Streams>()) {
  // Orphaned descendants of the child become ours, so none can escape.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

AttemptIo::~AttemptIo() { signals_->end(); }

bool AttemptIo::has_terminal() const noexcept { return streams_->terminal.has_value(); }

Result<void> AttemptIo::open_streams(ChildPlan& plan) {
  TRIAGE_TRY(terminal, Terminal::open());
  if (terminal) {
    streams_->terminal.emplace(std::move(*terminal));
    plan.terminal = true;
    plan.in = streams_->terminal->childs();
  } else if (is_background_of_terminal()) {
    // Whoever reads there is stopped, and no shell knows of the child's group to continue it.
    streams_->nothing = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    plan.in = streams_->nothing.get();
  }
  if (plan.terminal && ::isatty(STDOUT_FILENO) != 0) {
    plan.out = plan.in;
  } else {
    TRIAGE_TRY(pipe, make_pipe());
    streams_->out_pipe = std::move(pipe);
    plan.out = streams_->out_pipe.write.get();
  }
  if (plan.terminal && ::isatty(STDERR_FILENO) != 0) {
    plan.error = plan.in;
  } else {
    TRIAGE_TRY(pipe, make_pipe());
    streams_->error_pipe = std::move(pipe);
    plan.error = streams_->error_pipe.write.get();
  }
  return outcome::success();
}

Result<void> AttemptIo::start(ChildPlan plan, const std::function<Result<void>(pid_t)>& before) {
  TRIAGE_TRYV(open_streams(plan));
  plan.signals = signals_->before();
  streams_->memory_kills = memory_kills();
  // If a script has started something and then became this process by exec, that is its child.
  const Family before_it = family_without({}, 0);
  spared_.insert(before_it.children.begin(), before_it.children.end());
  TRIAGE_TRY(child, Child::fork_gated(plan));
  pid_ = child.pid();
  leader_start_ = start_of(pid_);
  streams_->out_pipe.write.close();
  streams_->error_pipe.write.close();
  Result<void> ready = before(pid_);
  if (ready) {
    signals_->begin(pid_, streams_->terminal ? streams_->terminal->ours() : -1);
    ready = child.let_go();
  } else {
    const Child ended = std::move(child);  // Its gate closes, so it ends.
  }
  if (!ready) {
    signals_->end();
    ::waitpid(pid_, nullptr, 0);
    return ready;
  }
  if (streams_->terminal) streams_->terminal->close_childs();
  started_ = active_ = clock_->now();
  stopped_for_ = signals_->stopped_for();
  return outcome::success();
}

// Of the child's terminal everything must be read, or the child would wait for ever: it carries
// those of its streams that are terminals, and what it echoes.
void AttemptIo::pass_streams() {
  Streams& all = *streams_;
  const auto seen = [this](std::string_view bytes) {
    note_activity();
    end_.printed = true;
    if (on_out_) on_out_(bytes);
  };
  const auto alive = [this](std::string_view) { note_activity(); };
  const auto pass = [this](FileDescriptor from, int to, const Passage::Reader& reader) {
    return std::make_unique<Passage>(loop_, std::move(from), to, reader);
  };
  if (all.out_pipe.read) all.out = pass(std::move(all.out_pipe.read), STDOUT_FILENO, seen);
  if (all.error_pipe.read) all.error = pass(std::move(all.error_pipe.read), STDERR_FILENO, alive);
  if (!all.terminal) return;
  // Two files for one device: one to read from, one to write to.
  FileDescriptor reading(::fcntl(all.terminal->ours(), F_DUPFD_CLOEXEC, 0));
  FileDescriptor keys(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!all.out) {
    all.out = pass(std::move(reading), STDOUT_FILENO, seen);
  } else if (!all.error) {
    all.error = pass(std::move(reading), STDERR_FILENO, alive);
  } else {
    all.screen = pass(std::move(reading), STDIN_FILENO, alive);
  }
  all.keys = pass(std::move(keys), all.terminal->ours(),
                  [this](std::string_view typed) { note_keys(typed); });
}

// At a terminal no SIGINT comes to this process: the child's terminal makes it.
void AttemptIo::note_keys(std::string_view typed) {
  const Terminal::EndingKeys ending = streams_->terminal->ending_keys();
  for (const char key : typed) {
    const int signal = ending.signal_of(key);
    typed_since_ = signal == 0;
    if (signal == 0) continue;
    typed_ = signal;
    typed_at_ = clock_->now();
  }
}

// A program may catch a signal, tidy up, and exit with any status, also with 0. One that only stops
// its current work at SIGINT goes on for longer.
int AttemptIo::stopped_by() const {
  const TimePoint now = clock_->now();
  const auto just = [&](TimePoint when) { return now < later(when, spec_.kill_after); };
  const int passed = signals_->newest_passed();
  if (passed != 0 &&
      (passed != SIGINT || interrupts_ > 1 || !interrupted_at_ || just(*interrupted_at_))) {
    return passed;
  }
  if (typed_ == 0) return 0;
  const bool says_so = WIFSIGNALED(end_.status) ? WTERMSIG(end_.status) == typed_
                                                : WEXITSTATUS(end_.status) == 128 + typed_;
  return says_so || (just(typed_at_) && (end_.status != 0 || !typed_since_)) ? typed_ : 0;
}

ChildEnd AttemptIo::serve() {
  Streams& all = *streams_;
  pass_streams();
  loop_.watch(signals_->child_events(), POLLIN, [this](short) {
    signalfd_siginfo info{};
    while (::read(signals_->child_events(), &info, sizeof info) > 0) continue;
    reap();
  });
  loop_.watch(signals_->interrupts(), POLLIN, [this](short) {
    signals_->clear_interrupts();
    interrupted_at_ = clock_->now();
    // Ending the supervisor must not take for ever. The first keyboard interrupt is left to the
    // child, though: many programs only stop their current work.
    const bool patient = signals_->ended_by() == SIGINT && interrupts_++ == 0;
    if (!patient && !kill_at_) kill_at_ = later(clock_->now(), spec_.kill_after);
  });
  reap();  // It may already have ended.
  while (!all_ended_) {
    const bool unread = is_unread();
    const auto planned = next_moment();
    loop_.turn(planned, *clock_);
    skip_pause(planned);
    if (unread) note_activity();  // The child may have waited for that reader, too.
    keep_time();
  }
  all.keys.reset();
  pass_on_rest();
  loop_.forget(signals_->child_events());
  loop_.forget(signals_->interrupts());
  if (all.out) end_.out = all.out->tail().text();
  if (all.error) end_.error = all.error->tail().text();
  end_.unwritten = unwritten(all.out.get(), "output");
  if (end_.unwritten.empty()) end_.unwritten = unwritten(all.error.get(), "error");
  end_.out_of_memory = memory_kills() > all.memory_kills;
  end_.in_line = spoken().is_in_line();
  return std::move(end_);
}

// Where both streams are the terminal, standard error has no passage of its own.
Passage& AttemptIo::spoken() { return *(streams_->error ? streams_->error : streams_->out); }

void AttemptIo::say(std::string_view text) { spoken().say(text); }

bool AttemptIo::is_unread() const {
  const auto waits = [](const auto& stream) { return stream && stream->is_unread(); };
  return waits(streams_->out) || waits(streams_->error) || waits(streams_->screen);
}

// Time in which everything was stopped, or this process could not look, is not the child's.
void AttemptIo::skip_pause(std::optional<TimePoint> planned) {
  constexpr auto late = std::chrono::milliseconds(250);
  const Duration stopped = signals_->stopped_for() - stopped_for_;
  stopped_for_ += stopped;
  started_ += stopped;
  if (stopped > Duration::zero() || (planned && clock_->now() >= later(*planned, late))) {
    note_activity();
  }
}

// Waits for whoever reads the child's streams, unless somebody wants an end.
void AttemptIo::pass_on_rest() {
  std::optional<TimePoint> give_up_at;
  for (Passage* stream : {streams_->out.get(), streams_->error.get(), streams_->screen.get()}) {
    while (stream != nullptr && !stream->finish()) {
      if (signals_->ended_by() != 0 && !give_up_at)
        give_up_at = later(clock_->now(), spec_.kill_after);
      if (give_up_at && clock_->now() >= *give_up_at) {
        stream->drop();
      } else {
        loop_.turn(give_up_at, *clock_);
      }
    }
  }
}

void AttemptIo::reap() {
  siginfo_t found{};
  if (!leader_ended_ &&
      ::waitid(P_PID, static_cast<id_t>(pid_), &found, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      found.si_pid == pid_) {
    signals_->handle_pending();  // What was sent before the end came before it.
    signals_->end();             // The group's number is nobody else's until it is waited for.
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
    spared_.erase(ended);
    if (ended != pid_) continue;
    leader_ended_ = true;
    end_.status = status;
    end_.stopped_by = stopped_by();
    kill_at_.reset();
  }
  if (leader_ended_) end_rest();
}

// The leader's remaining processes get as long to end as it had itself.
void AttemptIo::end_rest() {
  killing_ = killing_ || (kill_at_ && clock_->now() >= *kill_at_);
  Family rest = family_without(spared_, leader_start_);
  all_ended_ = rest.children.empty();
  if (!all_ended_ && lets_effects_end()) return;
  rest.others.insert(rest.others.end(), rest.children.begin(), rest.children.end());
  for (const pid_t pid : rest.others) {
    if (killing_ || asked_.insert(pid).second) end(pid, killing_ ? SIGKILL : SIGTERM);
  }
  if (!all_ended_ && !kill_at_) kill_at_ = later(clock_->now(), spec_.kill_after);
}

bool AttemptIo::lets_effects_end() {
  constexpr auto look_every = std::chrono::milliseconds(20);
  if (killing_ || !has_effects_ || !has_effects_()) return false;
  if (!cut_off_at_) cut_off_at_ = later(clock_->now(), spec_.kill_after);
  if (clock_->now() >= *cut_off_at_) return false;
  if (std::exchange(looks_again_, true)) return true;
  loop_.call_at(clock_->now() + look_every, [this] {
    looks_again_ = false;
    end_rest();
  });
  return true;
}

// A process or, if negative, a group.
void AttemptIo::end(pid_t who, int signal) {
  if (::kill(who, signal) == 0 || errno != EPERM || std::exchange(told_foreign_, true)) return;
  if (on_trouble_) {
    on_trouble_("process " + std::to_string(std::abs(who)) +
                " cannot be ended: it belongs to another user");
  }
}

void AttemptIo::stop(ChildEnd::Cause cause) {
  if (leader_ended_ || end_.cause != ChildEnd::Cause::itself) return;
  end_.cause = cause;
  end(-pid_, SIGTERM);
  ::kill(-pid_, SIGCONT);  // One that is stopped would not hear it.
  kill_at_ = later(clock_->now(), spec_.kill_after);
}

std::optional<TimePoint> AttemptIo::next_moment() const {
  std::optional<TimePoint> next = kill_at_;
  if (leader_ended_ || end_.cause != ChildEnd::Cause::itself) return next;
  const auto consider = [&next](TimePoint since, Duration length) {
    if (length > Duration::zero())
      next = std::min(next.value_or(TimePoint::max()), later(since, length));
  };
  consider(started_, spec_.timeout);
  if (idle_held_ == 0 && !is_unread()) consider(active_, spec_.idle_timeout);
  if (dismiss_at_) next = std::min(next.value_or(*dismiss_at_), *dismiss_at_);
  return next;
}

void AttemptIo::keep_time() {
  const TimePoint now = clock_->now();
  if (kill_at_ && now >= *kill_at_) {
    if (leader_ended_) {
      end_rest();
    } else {
      end(-pid_, SIGKILL);
    }
    kill_at_ = later(now, spec_.kill_after);  // Again, in case that did not help.
    return;
  }
  if (dismiss_at_ && now >= *dismiss_at_) {
    dismiss();
  } else if (spec_.timeout > Duration::zero() && now >= later(started_, spec_.timeout)) {
    stop(ChildEnd::Cause::timeout);
  } else if (idle_held_ == 0 && spec_.idle_timeout > Duration::zero() &&
             now >= later(active_, spec_.idle_timeout)) {
    stop(ChildEnd::Cause::idle_timeout);
  }
}

}  // namespace triage::inline v0_1::supervise
