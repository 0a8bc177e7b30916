// SPDX-License-Identifier: MIT
#include "triage/observers/redacting.hpp"

#include "base/error_more.hpp"
#include "triage/policy.hpp"
#include "triage/step.hpp"

#include <optional>
#include <string>
#include <utility>

namespace triage::inline v0_1 {
namespace {

class RedactingObserver final : public Observer {
 public:
  RedactingObserver(std::shared_ptr<Observer> inner, std::shared_ptr<const Redactor> redactor)
      : inner_(std::move(inner)), redactor_(std::move(redactor)) {}

  void on_event(const Event& event) override {
    Event told = event;
    const std::string text = redactor_->text(event.text);
    told.text = text;
    std::optional<Step> step;
    if (event.step != nullptr) told.step = &step.emplace(clean(*event.step));
    std::optional<RecoveryAction> action;
    if (event.action != nullptr) told.action = &action.emplace(clean(*event.action));
    std::shared_ptr<const FailureContext> failure;
    if (event.failure != nullptr) {
      failure = std::make_shared<const FailureContext>(clean(*event.failure));
      told.failure = failure.get();
    }
    std::optional<Error> error;
    if (event.error != nullptr) told.error = &error.emplace(clean(*event.error, failure));
    inner_->on_event(told);
  }

 private:
  void clean(std::string& text) const { text = redactor_->text(text); }
  void clean(std::optional<std::string>& text) const {
    if (text) clean(*text);
  }

  // failure: the event's, without secrets.
  [[nodiscard]] Error clean(const Error& error,
                            std::shared_ptr<const FailureContext> failure) const {
    if (!error.failure()) failure.reset();
    return detail::ErrorFacts::told(
        error, std::move(failure), [this](std::string_view text) { return redactor_->text(text); });
  }

  [[nodiscard]] Step clean(Step step) const {
    clean(step.action);
    clean(step.llm_output);
    clean(step.error);
    clean(step.exception_type);
    clean(step.agent_id);
    for (Json* value : {&step.tool_input, &step.tool_output, &step.metadata}) {
      redact(*value, *redactor_);
    }
    return step;
  }

  [[nodiscard]] RecoveryAction clean(RecoveryAction action) const {
    for (std::string* text : {&action.hint, &action.subgoal, &action.message}) clean(*text);
    if (action.value) {
      Json value = *action.value;
      redact(value, *redactor_);
      action.value = std::make_shared<const Json>(std::move(value));
    }
    return action;
  }

  [[nodiscard]] FailureContext clean(FailureContext failure) const {
    for (Evidence& one : failure.classification.evidence) {
      clean(one.detail);
      for (auto& [name, value] : one.facts) clean(value);
    }
    for (HistoryEntry& one : failure.history) clean(one.reason);
    clean(failure.classification.reason);
    clean(failure.classification.leaning.reason);
    clean(failure.text);
    clean(failure.exception_type);
    clean(failure.task);
    clean(failure.incomplete_subgoal);
    for (std::string& note : failure.notes) clean(note);
    Trajectory steps;
    for (const Step& step : failure.trajectory) steps.append(clean(step));
    failure.trajectory = std::move(steps);
    return failure;
  }

  const std::shared_ptr<Observer> inner_;
  const std::shared_ptr<const Redactor> redactor_;
};

}  // namespace

std::shared_ptr<Observer> redacted(std::shared_ptr<Observer> inner,
                                   std::shared_ptr<const Redactor> redactor) {
  return std::make_shared<RedactingObserver>(std::move(inner), std::move(redactor));
}

}  // namespace triage::inline v0_1
