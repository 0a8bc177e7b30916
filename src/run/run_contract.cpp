// SPDX-License-Identifier: MIT
// The contract of a callable, and return values that break it.
#include "base/run_catching.hpp"
#include "contract/contract_return.hpp"
#include "contract/step_breaches.hpp"
#include "run/run.hpp"

#include <utility>

namespace triage::inline v0_1::detail {

void Run::set_contract(int attempt, AgentContract contract) {
  Result<void> checked = check_contract(contract);
  auto made = std::make_shared<const AgentContract>(std::move(contract));
  const std::scoped_lock lock(mutex_);
  if (!is_late(attempt) && !refused(checked)) made_data().extras().contract = std::move(made);
}

const std::shared_ptr<const AgentContract>& Run::contract() const noexcept {
  const RunExtras* extras = data_ ? data_->made_extras.get() : nullptr;
  return extras != nullptr && extras->contract ? extras->contract : core_.contract;
}

std::vector<StepBreach> Run::judge_unlocked(const Step& step, Lock& lock) {
  const std::shared_ptr<const AgentContract> held_to = contract();
  lock.unlock();  // Checking schemas and patterns is slow and needs no lock.
  std::vector<StepBreach> broken = judge_step(*held_to, step);
  lock.lock();
  return broken;
}

void Run::keep(const std::vector<StepBreach>& broken) {
  if (!broken.empty()) keep_breaches(broken, newest_step(), data_->extras().attempt.breaches);
}

void Run::tell_of_step(int attempt, const Step& step, std::size_t index,
                       const std::vector<StepBreach>& broken) {
  emit(EventKind::step_recorded, {.attempt = attempt, .step = &step, .number = index});
  for (const StepBreach& breach : broken) {
    if (!breach.checked()) continue;
    emit(EventKind::contract_broken,
         {.attempt = attempt, .step = &step, .text = breach.evidence.detail, .number = index});
  }
}

const std::vector<StepBreach>* Run::breaches() const noexcept {
  static const std::vector<StepBreach> none;
  if (!contract() || !judges_steps(*contract())) return nullptr;
  const RunExtras* extras = data_->made_extras.get();
  return extras != nullptr ? &extras->attempt.breaches : &none;
}

bool Run::judges_return() const noexcept {
  const RunExtras* extras = data_ ? data_->made_extras.get() : nullptr;
  if (extras == nullptr || !extras->contract) return core_.judges_return;
  return detail::judges_return(*extras->contract);
}

Input Run::judge_return() {
  RunData& data = *data_;
  const AgentContract& held_to = *contract();
  Json result;
  if (judges_result(held_to)) {
    std::string problem = "has no conversion to JSON";
    bool checkable = false;
    try {
      // A value without a JSON conversion has no forbidden texts and no shape to check.
      checkable = call_.table->result_json(call_.frame, result) || held_to.output_schema.empty();
    } catch (...) {
      problem = "was not converted to JSON: " + current_exception_text();
    }
    if (!checkable) {
      data.attempt.sticky =
          Error{Errc::invalid_argument, "the contract cannot be checked: the agent's result " +
                                            problem + "; give its type to_json and from_json"};
      return Input::succeeded;  // The sticky error ends the run.
    }
  }
  static const Failure nothing_reported;
  std::optional<Classification> broken = broken_return({.failure = nothing_reported,
                                                        .trajectory = data.journal.trajectory(),
                                                        .restored_steps = data.restored_steps,
                                                        .contract = &held_to,
                                                        .result = &result});
  if (!broken) return Input::succeeded;
  data.report({.text = broken->evidence.front().detail});
  data.extras().attempt.broken_return = std::move(broken);
  return Input::failed;
}

}  // namespace triage::inline v0_1::detail
