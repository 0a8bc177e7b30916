// SPDX-License-Identifier: MIT
#pragma once
// Reports every state transition of a run to one observer.

#include "triage/clock.hpp"
#include "triage/result.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct FailureContext;
struct RecoveryAction;
struct Step;
namespace detail {
class Run;
}

// The names (to_string) are stable; docs/events.md says what each event carries.
enum class EventKind : std::uint8_t {
  run_started,
  run_resumed,
  attempt_started,
  step_recorded,
  checkpoint_labelled,
  effect_intended,
  effect_completed,
  effect_reused,
  effect_in_doubt,
  effect_reconciled,
  compensation_started,
  compensation_completed,
  compensation_failed,
  attempt_succeeded,
  attempt_failed,
  queue_drained,
  store_detached,
  store_attached,
  failure_classified,
  recovery_chosen,
  wait_started,
  wait_ended,
  gate_refused,
  rolled_back,
  late_call,
  callback_failed,
  policy_warning,
  run_finished,
  run_escalated,
  run_aborted,
  run_suspended,
  run_cancelled,
  run_failed,
  step_refused,
  contract_broken,
  store_warning,
};
inline constexpr std::size_t event_kind_count = 36;

[[nodiscard]] std::string_view to_string(EventKind kind) noexcept;

// Valid during the call only. Pointers are null if the kind does not carry them.
struct Event {
  EventKind kind = EventKind::run_started;
  int attempt = 0;  // 1-based; 0 before the first attempt.
  const FailureContext* failure = nullptr;
  const RecoveryAction* action = nullptr;
  const Step* step = nullptr;
  const Error* error = nullptr;
  std::string_view text{};     // Label, effect key, checkpoint id, message.
  std::uint64_t number = 0;    // Count or nanoseconds: see docs/events.md.
  detail::Run* run = nullptr;  // Internal.
  WallTime time{};             // By the agent's clock; informative.

  // Generated when first asked for; fixed for the run.
  [[nodiscard]] const std::string& run_id() const;
};

// Thread-safety: on_event() may be called from several threads at once if the agent records from
// several threads or serves several runs. It must not call back into the run. Its exceptions are
// caught and counted.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const Event& event) = 0;
};

// Makes an observer from a function.
[[nodiscard]] std::shared_ptr<Observer> observe(std::function<void(const Event&)> function);

}  // namespace triage::inline v0_1
