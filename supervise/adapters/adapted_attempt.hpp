// SPDX-License-Identifier: MIT
#pragma once
// One attempt of a program with an adapter: its command line, its events, and what they mean.

#include "supervise/adapters/command_line.hpp"
#include "supervise/adapters/session_mark.hpp"
#include "supervise/adapters/stream_reader.hpp"
#include "supervise/attempt/attempt_io.hpp"
#include "supervise/spec/spec.hpp"
#include "triage/attempt.hpp"
#include "triage/checkpoint_store.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// The reason if the session to resume no longer exists.
inline constexpr const char* lost_session_reason = "session_lost";

// A policy's hint to the next attempt; a first line "model: NAME" selects another model.
struct Hint {
  std::string model{};
  std::string text{};
};
[[nodiscard]] Hint parse_hint(const std::string& hint);

class AdaptedAttempt {
 public:
  struct Options {
    CheckpointStore* store = nullptr;
    std::shared_ptr<Clock> clock{};
    std::function<void(Step&)> on_step{};                  // Before it is recorded.
    std::function<void(const std::string&)> on_trouble{};  // Messages for the operator.
    std::shared_ptr<KnownSession> known{};                 // Null: it is read from the store.
  };

  // spec, adapter and attempt outlive this object.
  AdaptedAttempt(const RunSpec& spec, const Adapter& adapter, Attempt& attempt, Options options);

  // The command line of this attempt. Errors: the store's.
  [[nodiscard]] Result<Words> command();

  // Its events are read, so what it does is known without its cooperation.
  [[nodiscard]] bool reads() const noexcept { return reads_; }
  [[nodiscard]] const std::string& adapter_name() const noexcept { return adapter_.name; }

  // Takes standard output. Once the program has printed its final event, on_end is called with the
  // silence after which it may be ended; with nothing when it turns out to work on.
  void add(std::string_view bytes, const std::function<void(std::optional<Duration>)>& on_end);
  // The child has ended.
  void finish() { reader_.finish(); }

  // The program reported that its work is done. How it ended afterwards is irrelevant, unless
  // something that it had begun was still running.
  [[nodiscard]] bool finished(const ChildEnd& end) const noexcept {
    return reader_.end() == StreamEnd::finished &&
           (!reader_.busy() || end.cause == ChildEnd::Cause::dismissed);
  }
  // It reported events, but not that it was done.
  [[nodiscard]] bool unfinished() const noexcept {
    return reader_.events() > 0 && reader_.end() != StreamEnd::finished;
  }
  // The failure to classify: what the provider reported, else how the child ended. Never what a
  // tool printed.
  [[nodiscard]] Failure failure(const ChildEnd& end, const std::string& name) const;

 private:
  Result<std::string> former_session();
  void know(const std::string& session);
  [[nodiscard]] bool goes_on(const Recovery& recovery) const;
  [[nodiscard]] Words anew(const Hint& hint) const;
  [[nodiscard]] Failure reported(const ChildEnd& end, const std::string& name) const;
  void note_session(const std::string& session);
  void trouble(const std::string& text) const {
    if (options_.on_trouble) options_.on_trouble(text);
  }

  const RunSpec& spec_;
  const Adapter& adapter_;
  Attempt& attempt_;
  Options options_;
  CommandLine line_;
  bool reads_ = false;     // Its stream is read.
  bool lingers_ = false;   // on_end was called with a time.
  std::string resumed_{};  // The session that this attempt resumes.
  StreamReader reader_;
};

}  // namespace triage::inline v0_1::supervise
