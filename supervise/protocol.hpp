// SPDX-License-Identifier: MIT
#pragma once
// What a child says to its supervisor, and what it is answered: docs/protocol.md.

#include "supervise/file_descriptor.hpp"
#include "supervise/loop.hpp"
#include "triage/attempt.hpp"
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
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace triage::inline v0_1::supervise {

// One side that speaks: a connection of the socket, or the pipe (which is not answered).
class Speaker {
 public:
  explicit Speaker(FileDescriptor file, bool answers) : file_(std::move(file)), answers_(answers) {}

  [[nodiscard]] int file() const noexcept { return file_.get(); }
  // Nobody reads it any more.
  [[nodiscard]] bool gone() const noexcept { return gone_.load(); }
  void leave() noexcept { gone_ = true; }
  // Thread-safe. An answer to somebody who has gone is dropped.
  void answer(const Json& id, Json answer);
  // Reads what is there and calls on_line for each whole line. False: the end.
  bool read_lines(const std::function<void(std::string_view line, bool too_long)>& on_line);

 private:
  FileDescriptor file_;
  bool answers_;
  std::atomic<bool> gone_{false};
  std::mutex writing_{};
  std::string waiting_{};  // The beginning of a line.
  bool skipping_ = false;  // It was too long.
};

// An effect that a client carries out: a thread waits inside Attempt::try_effect for its end.
struct RunningEffect {
  enum class End : std::uint8_t { none, done, not_done };
  End end = End::none;
  Json result{};
  std::string cause{};
  // It is not bound to the connection that asked for it: any may end it, until the attempt ends.
  bool held = false;
};

// Serves the children of one attempt on a loop. All members are called on the loop's thread.
class Protocol {
 public:
  static constexpr std::size_t longest_line = 16U << 20U;

  struct Options {
    std::function<void()> on_activity{};
    std::function<void(std::string)> on_trouble{};       // A sentence about what was skipped.
    std::function<void(Step&)> on_step{};                // Before it is recorded.
    std::function<void(const std::string&)> on_label{};  // Behind a checkpoint with a name.
  };

  Protocol(Loop& loop, Attempt& attempt, Options options);
  ~Protocol();
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;

  // Listens in `folder`, and makes the pipe. Errors: Errc::io.
  [[nodiscard]] Result<void> open(const std::string& folder);
  [[nodiscard]] const std::string& socket_path() const noexcept { return path_; }
  [[nodiscard]] int pipe_for_child() const noexcept { return pipe_.write.get(); }
  // The child has its copy.
  void close_pipe_for_child() { pipe_.write.close(); }

  // The child has ended: what it still wrote is read, and nobody is served any more. Effects that
  // are under way stay in doubt.
  void finish();
  // The failure that the child has reported, if it did.
  [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }
  [[nodiscard]] bool spoke() const noexcept { return spoke_; }

 private:
  using SpeakerPtr = std::shared_ptr<Speaker>;
  void accept();
  void serve(const SpeakerPtr& speaker);
  void forget(const SpeakerPtr& speaker);
  void take_line(const SpeakerPtr& speaker, std::string_view line, bool too_long);
  Result<void> take(const SpeakerPtr& speaker, const Json& message, const Json& id, Json& answer,
                    bool& later);
  Result<void> take_record(const Json& message);
  Result<void> begin_effect(const SpeakerPtr& speaker, const Json& effect, const Json& id);
  Result<void> end_effect(const Json& end, RunningEffect::End how);
  void trouble(const std::string& what);

  Loop& loop_;
  Attempt& attempt_;
  Options options_;
  std::string path_{};
  FileDescriptor listener_{};
  Pipe pipe_{};
  std::vector<SpeakerPtr> speakers_{};
  std::optional<Failure> failure_{};
  bool spoke_ = false;
  std::uint64_t troubles_ = 0;

  std::mutex mutex_{};  // Of what follows.
  std::condition_variable ended_{};
  bool closing_ = false;  // The child has ended.
  std::map<std::string, RunningEffect> effects_{};
  std::list<std::jthread> threads_{};
};

// A step from its JSON fields. Errors: Errc::invalid_argument, naming the field.
[[nodiscard]] Result<Step> step_from_json(const Json& fields);

}  // namespace triage::inline v0_1::supervise
