// SPDX-License-Identifier: MIT
#pragma once
// One attempt of a child: its streams, its time limits, and the end of everything it started.

#include "supervise/process/child.hpp"
#include "supervise/process/loop.hpp"
#include "supervise/process/signals.hpp"
#include "triage/clock.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// How an attempt of a child ended.
struct ChildEnd {
  enum class Cause : std::uint8_t {
    itself,        // It exited, or was killed by a signal that we did not send.
    timeout,       // RunSpec::timeout.
    idle_timeout,  // RunSpec::idle_timeout.
    dismissed,     // Its reader was done with it: see dismiss().
  };
  Cause cause = Cause::itself;
  int status = 0;     // As returned by wait(2).
  std::string out{};  // The tails of its streams; `out` has everything if both are a terminal.
  std::string error{};
  bool printed = false;        // It wrote to standard output.
  bool out_of_memory = false;  // The kernel killed a process here, perhaps not ours, for memory.
  bool in_line = false;        // What was passed to standard error does not end with a line.
  std::string unwritten{};     // Which of its streams could not be passed on, and why.
  // The terminating signal, passed on or typed at its terminal, that it seems to have ended for.
  int stopped_by = 0;
};

class Passage;

class AttemptIo {
 public:
  struct Options {
    std::shared_ptr<Signals> signals{};
    std::shared_ptr<Clock> clock{};
    // Receives standard output before it is passed on; may be null.
    std::function<void(std::string_view)> on_out{};
    // Messages for the operator; may be null.
    std::function<void(const std::string&)> on_trouble{};
    // Whether an effect is under way, which would be in doubt if it were cut off; may be null.
    std::function<bool()> has_effects{};
  };

  AttemptIo(const RunSpec& spec, Options options);
  ~AttemptIo();

  // Starts the child: `before` is called once its process exists but runs nothing yet; if it fails,
  // the child ends. plan: program, arguments, environment and `inherited` are set. Errors:
  // Errc::io, and those of `before`.
  [[nodiscard]] Result<void> start(ChildPlan plan,
                                   const std::function<Result<void>(pid_t)>& before);
  // Serves the child until it and everything it started have ended.
  [[nodiscard]] ChildEnd serve();

  // The child showed that it is alive.
  void note_activity() { active_ = clock_->now(); }
  // Suspends the idle timeout while the child waits for a slow answer. So does output that nobody
  // has read yet.
  void hold_idle(bool hold) {
    idle_held_ += hold ? 1 : -1;
    note_activity();
  }
  // Ends the child: it is no longer needed, or the run cannot continue.
  void dismiss() { stop(ChildEnd::Cause::dismissed); }
  // The same, at once: somebody else may already run it.
  void abandon() {
    dismiss();
    killing_ = true;  // Its other processes, too.
    kill_at_ = clock_->now();
  }
  // The same, unless it ends by itself within this time; nothing: it is needed after all.
  void dismiss_after(std::optional<Duration> length) {
    dismiss_at_ = length ? std::optional(later(clock_->now(), *length)) : std::nullopt;
  }
  // Writes to standard error behind what the child has written there, without waiting for its
  // reader: a child whose messages nobody reads still has its timeouts. Only during serve().
  void say(std::string_view text);
  // Whether the child has a terminal, and so a session, of its own; known once it is started.
  [[nodiscard]] bool has_terminal() const noexcept;
  // For other files of this attempt.
  [[nodiscard]] Loop& loop() noexcept { return loop_; }

 private:
  struct Streams;
  Result<void> open_streams(ChildPlan& plan);
  void pass_streams();
  void pass_on_rest();
  [[nodiscard]] Passage& spoken();
  [[nodiscard]] bool is_unread() const;
  void skip_pause(std::optional<TimePoint> planned);
  void note_keys(std::string_view typed);
  [[nodiscard]] int stopped_by() const;
  void reap();
  void end(pid_t who, int signal);
  void stop(ChildEnd::Cause cause);
  void keep_time();
  void end_rest();
  [[nodiscard]] bool lets_effects_end();
  [[nodiscard]] std::optional<TimePoint> next_moment() const;

  const RunSpec& spec_;
  std::shared_ptr<Signals> signals_;
  std::shared_ptr<Clock> clock_;
  std::function<void(std::string_view)> on_out_;
  std::function<void(const std::string&)> on_trouble_;
  std::function<bool()> has_effects_;
  Loop loop_{};
  std::unique_ptr<Streams> streams_;
  pid_t pid_ = -1;
  std::uint64_t leader_start_ = 0;  // As in ProcessMark.
  bool leader_ended_ = false;
  int interrupts_ = 0;
  std::optional<TimePoint> interrupted_at_{};  // When the newest terminating signal was noticed.
  int typed_ = 0;                              // The signal of the newest key that sends one.
  TimePoint typed_at_{};
  bool typed_since_ = false;  // Other keys, after that one.
  int idle_held_ = 0;
  bool all_ended_ = false;
  bool killing_ = false;      // What remains is no longer asked to end.
  std::set<pid_t> spared_{};  // Children of this process from before the attempt.
  std::set<pid_t> asked_{};   // Those sent SIGTERM.
  ChildEnd end_{};
  TimePoint started_{};
  TimePoint active_{};
  Duration stopped_for_{0};  // Of this process, until now.
  bool told_foreign_ = false;
  std::optional<TimePoint> kill_at_{};
  std::optional<TimePoint> cut_off_at_{};  // Effects that outlive the leader.
  bool looks_again_ = false;               // Whether they have ended.
  std::optional<TimePoint> dismiss_at_{};
};

}  // namespace triage::inline v0_1::supervise
