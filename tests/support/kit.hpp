// SPDX-License-Identifier: MIT
#pragma once
// Shared by tests of runs: a clock without real waiting, a classifier that reads the type from the
// failure's text, an observer that remembers, strategies with a fixed answer.

#include "triage/agent.hpp"
#include "triage/journal.hpp"
#include "triage/stores/memory.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace triage::test {

// Time passes only while something waits, or when a test advances it.
class ManualClock final : public Clock {
 public:
  TimePoint now() override { return TimePoint(Duration(now_.load())); }
  WallTime wall_now() override {
    return WallTime(std::chrono::milliseconds(1'700'000'000'000 + now_.load() / 1'000'000));
  }
  bool sleep_until(TimePoint when, std::stop_token stop) override {
    if (on_sleep) on_sleep(when);
    if (stop.stop_requested()) return false;
    waits.push_back(when - now());
    if (when > now()) now_ = when.time_since_epoch().count();
    return true;
  }
  void advance(Duration by) { now_ += by.count(); }

  std::vector<Duration> waits{};
  std::function<void(TimePoint)> on_sleep{};

 private:
  std::atomic<Duration::rep> now_{1'000'000'000};
};

// The type is the first one whose name the failure's text contains; 503 is an external fault.
class NamingClassifier final : public Classifier {
 public:
  Classification classify(const ClassifierInput& input) override {
    ++calls;
    restored_steps = input.restored_steps;
    {
      const std::scoped_lock lock(mutex_);
      rolled_back_step_ = input.rolled_back_step;
    }
    for (const FailureType type : all_failure_types) {
      if (input.failure.text.find(to_string(type)) != std::string::npos) {
        return {.type = type, .reason = "named", .confidence = 0.9};
      }
    }
    if (input.failure.http_status == 503) {
      return {.type = FailureType::external_fault, .reason = "overloaded", .confidence = 0.9};
    }
    return {};
  }

  std::atomic<int> calls{0};
  std::atomic<std::size_t> restored_steps{0};
  [[nodiscard]] std::optional<std::size_t> rolled_back_step() const {
    const std::scoped_lock lock(mutex_);
    return rolled_back_step_;
  }

 private:
  mutable std::mutex mutex_{};
  std::optional<std::size_t> rolled_back_step_{};
};

// Remembers every event, copying what is valid only during the call.
class EventLog final : public Observer {
 public:
  struct Entry {
    EventKind kind;
    int attempt;
    std::string text;
    std::uint64_t number;
    std::string error;
    std::string run_id;
    std::string action;
    std::string step;
    bool has_failure;
    bool has_token;
  };

  void on_event(const Event& event) override {
    Entry entry{event.kind,
                event.attempt,
                std::string(event.text),
                event.number,
                event.error == nullptr ? "" : event.error->detail,
                event.run_id(),
                event.action == nullptr ? "" : std::string(to_string(event.action->kind)),
                event.step == nullptr ? "" : event.step->action,
                event.failure != nullptr,
                event.error != nullptr && event.error->suspension() != nullptr};
    const std::scoped_lock lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  [[nodiscard]] std::vector<Entry> entries() const {
    const std::scoped_lock lock(mutex_);
    return entries_;
  }
  [[nodiscard]] std::vector<EventKind> kinds() const {
    std::vector<EventKind> all;
    for (const Entry& entry : entries()) all.push_back(entry.kind);
    return all;
  }
  [[nodiscard]] std::size_t count(EventKind kind) const {
    const auto all = kinds();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), kind));
  }
  // The newest event of a kind; the test fails if there is none.
  [[nodiscard]] Entry last(EventKind kind) const {
    const auto all = entries();
    for (auto it = all.rbegin(); it != all.rend(); ++it) {
      if (it->kind == kind) return *it;
    }
    throw std::runtime_error("no event " + std::string(to_string(kind)));
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// A strategy that always returns the same action.
inline Strategy always(RecoveryAction action) {
  return Strategy("always " + describe(action), [action](const FailureContext&) { return action; });
}

// Policies with one answer to every failure.
inline FailurePolicy escalating() {
  return FailurePolicy().otherwise(always(RecoveryAction::escalate()));
}
inline FailurePolicy retrying() {
  return FailurePolicy().otherwise(always(RecoveryAction::retry()));
}

// A policy that returns these actions in order, repeating the last one.
inline FailurePolicy answers(std::vector<RecoveryAction> actions) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  FailurePolicy policy;
  policy.otherwise(Strategy("scripted", [actions, next](const FailureContext&) {
    const std::size_t i = next->fetch_add(1);
    return actions[std::min(i, actions.size() - 1)];
  }));
  return policy;
}

// Everything that a run consists of, injected.
struct Kit {
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<NamingClassifier> classifier = std::make_shared<NamingClassifier>();
  std::shared_ptr<EventLog> log = std::make_shared<EventLog>();
  std::shared_ptr<MemoryStore> store = MemoryStore::create();

  // With a memory store, and nothing that depends on the machine.
  [[nodiscard]] AgentOptions options() const { return with(store); }
  // The same with another store.
  [[nodiscard]] AgentOptions with(std::shared_ptr<CheckpointStore> other) const {
    return {.store = std::move(other),
            .write_mode = WriteMode::deferred,
            .observer = log,
            .clock = clock,
            .random = seeded_random(1),
            .classifier = classifier};
  }
  // The same without a store.
  [[nodiscard]] AgentOptions bare() const { return with(nullptr); }
};

// The journal of a run as stored. Throws if it cannot be read.
inline Journal stored_journal(CheckpointStore& store, const RunId& run) {
  return Journal::fold(store.read(run, {}).value()).value();
}

}  // namespace triage::test
