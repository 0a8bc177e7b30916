// SPDX-License-Identifier: MIT
#include "triage/observer.hpp"

#include <utility>

namespace triage::inline v0_1 {
namespace {

class FunctionObserver final : public Observer {
 public:
  explicit FunctionObserver(std::function<void(const Event&)> function)
      : function_(std::move(function)) {}
  void on_event(const Event& event) override { function_(event); }

 private:
  std::function<void(const Event&)> function_;
};

}  // namespace

std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::run_started: return "run_started";
    case EventKind::run_resumed: return "run_resumed";
    case EventKind::attempt_started: return "attempt_started";
    case EventKind::step_recorded: return "step_recorded";
    case EventKind::checkpoint_labelled: return "checkpoint_labelled";
    case EventKind::effect_intended: return "effect_intended";
    case EventKind::effect_completed: return "effect_completed";
    case EventKind::effect_reused: return "effect_reused";
    case EventKind::effect_in_doubt: return "effect_in_doubt";
    case EventKind::effect_reconciled: return "effect_reconciled";
    case EventKind::compensation_started: return "compensation_started";
    case EventKind::compensation_completed: return "compensation_completed";
    case EventKind::compensation_failed: return "compensation_failed";
    case EventKind::attempt_succeeded: return "attempt_succeeded";
    case EventKind::attempt_failed: return "attempt_failed";
    case EventKind::queue_drained: return "queue_drained";
    case EventKind::store_detached: return "store_detached";
    case EventKind::store_attached: return "store_attached";
    case EventKind::failure_classified: return "failure_classified";
    case EventKind::recovery_chosen: return "recovery_chosen";
    case EventKind::wait_started: return "wait_started";
    case EventKind::wait_ended: return "wait_ended";
    case EventKind::gate_refused: return "gate_refused";
    case EventKind::rolled_back: return "rolled_back";
    case EventKind::late_call: return "late_call";
    case EventKind::callback_failed: return "callback_failed";
    case EventKind::policy_warning: return "policy_warning";
    case EventKind::run_finished: return "run_finished";
    case EventKind::run_escalated: return "run_escalated";
    case EventKind::run_aborted: return "run_aborted";
    case EventKind::run_suspended: return "run_suspended";
    case EventKind::run_cancelled: return "run_cancelled";
    case EventKind::run_failed: return "run_failed";
    case EventKind::step_refused: return "step_refused";
    case EventKind::contract_broken: return "contract_broken";
    case EventKind::store_warning: return "store_warning";
  }
  return "unknown";
}

std::shared_ptr<Observer> observe(std::function<void(const Event&)> function) {
  return std::make_shared<FunctionObserver>(std::move(function));
}

}  // namespace triage::inline v0_1
