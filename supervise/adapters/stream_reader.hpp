// SPDX-License-Identifier: MIT
#pragma once
// A program's stream of events, read by the rules of its adapter.

#include "supervise/adapters/adapter.hpp"
#include "triage/failure.hpp"
#include "triage/step.hpp"
#include "triage/usage.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace triage::inline v0_1::supervise {

// Receives what the reader finds, as soon as it is known. All members are optional.
struct StreamListener {
  std::function<void(const std::string& session)> on_session{};
  std::function<void(Step step)> on_step{};
  std::function<void(const Usage& usage)> on_usage{};
  std::function<void(StreamEnd end)> on_end{};
};

// The newest failure reported by the provider or the program itself.
struct ToldFailure {
  Failure failure{};
  std::optional<double> resets_at{};  // Seconds since 1970.
};

// An event is a line with a JSON object; a line with a list of them has several. Skips lines that
// are anything else, are too long or match no rule. Thread-safety: none.
class StreamReader {
 public:
  static constexpr std::size_t longest_line = 16U << 20U;

  // adapter: must outlive this object.
  StreamReader(const Adapter& adapter, StreamListener listener);

  void add(std::string_view bytes);
  // At the end of the stream: reads its last line, and reports calls without a result.
  void finish();

  // The number of events that matched a rule.
  [[nodiscard]] std::uint64_t events() const noexcept { return events_; }
  [[nodiscard]] StreamEnd end() const noexcept { return end_; }
  // Something that it began still runs in the background.
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  [[nodiscard]] const std::optional<ToldFailure>& failure() const noexcept { return failure_; }

 private:
  void take_line(std::string_view line);
  void take_event(const Json& event);
  // True if the event shows that work continues.
  bool apply(const EventRule& rule, const Json& event);
  void note_failure(const FailureRule& rule, const Json& event);
  void note_usage(const UsageRule& rule, const Json& event);

  const Adapter& adapter_;
  StreamListener listener_;
  std::string line_{};  // The beginning of a line.
  bool skipping_ = false;
  std::map<std::string, Step> calls_{};  // Without a result so far.
  std::string session_{};
  std::optional<ToldFailure> failure_{};
  StreamEnd end_ = StreamEnd::none;
  bool busy_ = false;
  Usage totals_{.calls = 0};  // The newest that were told.
  std::uint64_t events_ = 0;
};

}  // namespace triage::inline v0_1::supervise
