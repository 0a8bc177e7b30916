// SPDX-License-Identifier: MIT
#pragma once
// An observer that records its events, for assertions.

#include "triage/observer.hpp"
#include "triage/policy.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// A copy of an event: an Event itself is valid during on_event() only.
struct RecordedEvent {
  EventKind kind = EventKind::run_started;
  std::string name{};    // to_string(kind).
  std::string run_id{};  // Empty if the event belongs to no run.
  int attempt = 0;
  std::string text{};
  std::uint64_t number = 0;
  std::optional<FailureType> failure_type{};
  std::optional<RecoveryAction::Kind> action{};
  std::string step_action{};
  std::optional<Errc> error_code{};
  std::string error_detail{};  // Empty without an error.
};

// Thread-safety: all members may be called from several threads at once.
class RecordingObserver final : public Observer {
 public:
  void on_event(const Event& event) override;

  [[nodiscard]] std::vector<RecordedEvent> events() const;  // In order of arrival.
  [[nodiscard]] std::vector<RecordedEvent> events(EventKind kind) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t count(EventKind kind) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::vector<RecordedEvent> events_;
};

}  // namespace triage::inline v0_1::testing
