// SPDX-License-Identifier: MIT
#pragma once
// The messages between a child and its supervisor: docs/protocol.md.

#include "supervise/process/file_descriptor.hpp"
#include "supervise/process/loop.hpp"
#include "supervise/protocol/protocol_records.hpp"
#include "triage/attempt.hpp"
#include "triage/clock.hpp"
#include "triage/failure.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace triage::inline v0_1::supervise {

// A party that sends messages: a socket connection, or the pipe (which gets no answers).
class Speaker {
 public:
  // Answers that are not read are kept up to here; then nobody is heard any more.
  static constexpr std::size_t most_unsent = 16U << 20U;

  explicit Speaker(FileDescriptor file, bool answers) : file_(std::move(file)), answers_(answers) {}

  [[nodiscard]] int file() const noexcept { return file_.get(); }
  // It no longer reads.
  [[nodiscard]] bool gone() const noexcept { return gone_.load(); }
  void leave() noexcept { gone_ = true; }
  // Or it has closed its end, which may not have been read yet.
  [[nodiscard]] bool is_leaving() const noexcept;
  // Both thread-safe. An answer to somebody who has gone is dropped. The first one keeps what the
  // other side does not read yet: send_more(), when it does; the second one waits until it does.
  void answer(const Json& id, Json answer);
  void answer_and_wait(const Json& id, Json answer);
  void send_more();
  [[nodiscard]] bool has_unsent();
  // It was sent another answer when more than most_unsent was unread.
  [[nodiscard]] bool reads_nothing();
  int waits = 0;  // Of its requests: those that wait for a time or a signal.
  // Reads what is there and calls on_line for each whole line. False: the end.
  bool read_lines(const std::function<void(std::string_view line, bool too_long)>& on_line);

 private:
  FileDescriptor file_;
  bool answers_;
  std::atomic<bool> gone_{false};
  std::mutex writing_{};
  std::string unsent_{};
  bool too_many_ = false;
  std::string waiting_{};  // The beginning of a line.
  bool skipping_ = false;  // The line is too long.
};

// An effect of which nobody knows whether it happened.
struct Doubt {
  std::string key{};
  Json arguments{};
};

// An effect that a client carries out: a thread waits inside Attempt::try_effect for its end.
struct RunningEffect {
  enum class End : std::uint8_t { none, done, not_done };
  End end = End::none;
  Json result{};
  std::string cause{};
  // Not tied to the requesting connection: any may end it before the attempt ends.
  bool held = false;
  bool begun = false;  // Its intent is durable. One that is not may have been done before.
  // Of the members above, or of who waits for them.
  std::shared_ptr<std::condition_variable> changed = std::make_shared<std::condition_variable>();
};

// Serves the children of one attempt on a loop. All members are called on the loop's thread.
class Protocol {
 public:
  static constexpr std::size_t longest_line = 16U << 20U;
  static constexpr std::size_t most_held = 1'000;  // Held effects: each has a thread.

  struct Options {
    std::function<void()> on_activity{};
    std::function<void(std::string)> on_trouble{};             // About skipped input.
    std::function<void(Step&)> on_step{};                      // Before it is recorded.
    std::function<void(const std::string& label)> on_label{};  // Before a named checkpoint.
    std::function<void(const CheckpointId&)> on_checkpoint{};  // After a named one.
    std::function<void(std::string)> on_status{};              // The child's status.
    std::function<void(bool)> on_wait{};                       // A client starts or stops waiting.
    std::function<void()> on_stop{};  // The run cannot continue: see stopped().
    std::shared_ptr<Clock> clock{};
    // What a command for this run needs besides, as in a shell: " --store URL", or nothing. The
    // program gets it, so without secrets.
    std::string store_option{};
    Duration max_wait{0};  // A longer wait suspends the run.
  };

  Protocol(Loop& loop, Attempt& attempt, Options options);
  ~Protocol();
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  // Listens in `folder` and creates the pipe. Errors: Errc::io.
  [[nodiscard]] Result<void> open(const std::string& folder);
  [[nodiscard]] const std::string& socket_path() const noexcept { return path_; }
  [[nodiscard]] int pipe_for_child() const noexcept { return pipe_.write.get(); }
  // For sd_notify(3): datagrams.
  [[nodiscard]] const std::string& notify_path() const noexcept { return notify_path_; }
  // Once the child has its copy.
  void close_pipe_for_child() { pipe_.write.close(); }

  // After the child's end: reads what it still wrote and stops serving. Effects in progress stay in
  // doubt.
  void finish();
  // The failure that the child reported, if any.
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }
  [[nodiscard]] bool spoke() const noexcept { return spoke_; }
  // An effect in doubt that was asked for, and refused, if there was one. Not one that is held: who
  // asks for that is told to ask somebody. Nor one whose asker went on: reported a step, state or
  // checkpoint, or asked for something else, on that connection or, if it has gone, on any.
  [[nodiscard]] std::optional<Doubt> doubt();
  // The effects that were begun or asked for in this attempt, and are in doubt. After finish().
  [[nodiscard]] std::vector<std::string> in_doubt();
  // Whether the end of the program would cut one off; held ones are others' to end.
  [[nodiscard]] bool has_effects();
  // Why the attempt must end: the run is suspended, or a step was refused by somebody.
  [[nodiscard]] const std::optional<Error>& stopped() const noexcept { return stopped_; }

 private:
  using SpeakerPtr = std::shared_ptr<Speaker>;
  struct EffectThread {
    std::atomic<bool> ended{false};
    std::jthread thread{};
  };
  void accept();
  void serve(const SpeakerPtr& speaker, short events);
  // On the loop's thread. A null id has asked for no answer.
  void answer(const SpeakerPtr& speaker, const Json& id, Json answer);
  void send(const SpeakerPtr& speaker, const Json& id, Json answer);
  void forget(const SpeakerPtr& speaker);
  void take_line(const SpeakerPtr& speaker, std::string_view line, bool too_long);
  Result<void> take(const SpeakerPtr& speaker, const Json& message, const Json& id, Json& reply,
                    bool& later);
  Result<void> take_records(LineRecords&& records);
  Result<void> begin_effect(const SpeakerPtr& speaker, const Json& effect, const Json& id);
  void serve_effect(const SpeakerPtr& speaker, const std::string& key, const Json& arguments,
                    const Json& id, bool held);
  Json carry_out(const SpeakerPtr& speaker, const std::string& key, const Json& id, bool held,
                 const EffectCall& call);
  bool claim(const std::string& key, bool held);
  Result<void> count_effect(bool held);
  void forget_effect(bool held);
  Result<void> in_thread(std::function<void()> work);
  void note_doubt(const SpeakerPtr& speaker, const std::string& key, const Json& arguments,
                  bool held);
  void note_progress(const SpeakerPtr& speaker);
  Result<void> end_effect(const Json& end, RunningEffect::End how);
  void trouble(const std::string& what);
  // Connections at the same time: this process needs files for other purposes, too.
  [[nodiscard]] static std::size_t most_speakers();
  // In protocol_waits.cpp.
  Result<void> open_notify(const std::string& folder);
  void hear_notify();
  // Handles requests that are answered later. True if `message` was one.
  Result<bool> take_wait(const SpeakerPtr& speaker, const Json& message, const Json& id,
                         bool& later);
  Result<void> propose(const Json& step, Json& reply);
  [[nodiscard]] bool waits_here(Duration left);
  void sleep_until(const SpeakerPtr& speaker, WallTime when, Duration length, const Json& id,
                   bool began);
  void wait_for(const SpeakerPtr& speaker, const std::string& name, WallTime until, const Json& id,
                bool began);
  void stop(Error error);
  void end_program();
  // A request of the speaker begins or ends to wait.
  void begin_wait(Speaker& speaker);
  void end_wait(Speaker& speaker);

  Loop& loop_;
  Attempt& attempt_;
  Options options_;
  std::string path_{};
  FileDescriptor listener_{};
  std::string notify_path_{};
  FileDescriptor notify_{};
  std::optional<Error> stopped_{};
  Pipe pipe_{};
  std::vector<SpeakerPtr> speakers_{};
  std::optional<Failure> failure_{};
  bool spoke_ = false;
  std::uint64_t troubles_ = 0;
  std::list<EffectThread> threads_{};

  std::mutex mutex_{};                   // Guards the members below.
  std::condition_variable claimable_{};  // An effect has begun or ended.
  bool closing_ = false;                 // The child has ended.
  std::map<std::string, RunningEffect> effects_{};
  bool told_many_ = false;
  std::size_t not_held_ = 0;  // Effects, from their request to its last answer.
  std::size_t held_ = 0;
  std::set<std::string> left_in_doubt_{};
  std::optional<Doubt> doubt_{};
  SpeakerPtr doubter_{};  // Who was told of it.
};

}  // namespace triage::inline v0_1::supervise
