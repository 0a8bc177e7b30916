// SPDX-License-Identifier: MIT
#include "triage/testing/scripted_agent.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace triage::inline v0_1::testing {

ScriptedAttempt& ScriptedAttempt::step(Step step) {
  return perform([step = std::move(step)](Attempt& attempt) { attempt.record_step(step); });
}

ScriptedAttempt& ScriptedAttempt::state(Json patch) {
  return perform([patch = std::move(patch)](Attempt& attempt) { attempt.update_state(patch); });
}

ScriptedAttempt& ScriptedAttempt::usage(Usage usage) {
  return perform([usage](Attempt& attempt) { attempt.record_usage(usage); });
}

ScriptedAttempt& ScriptedAttempt::checkpoint(std::string label) {
  return perform([label = std::move(label)](Attempt& attempt) {
    if (auto made = attempt.checkpoint(label); !made) throw BadResult(made.error());
  });
}

ScriptedAttempt& ScriptedAttempt::perform(std::function<void(Attempt&)> deed) {
  deeds_.push_back(std::move(deed));
  return *this;
}

ScriptedAttempt& ScriptedAttempt::succeed(Json value) {
  return end(
      [value = std::move(value)](Attempt&) -> Result<Json> { return outcome::success(value); });
}

ScriptedAttempt& ScriptedAttempt::fail(Failure failure) {
  return end([failure = std::move(failure)](Attempt& attempt) -> Result<Json> {
    return outcome::failure(attempt.fail(failure));
  });
}

ScriptedAttempt& ScriptedAttempt::end(std::function<Result<Json>(Attempt&)> end) {
  end_ = std::move(end);
  return *this;
}

Result<Json> ScriptedAttempt::play(Attempt& attempt) const {
  for (const auto& deed : deeds_) deed(attempt);
  if (end_) return end_(attempt);
  return outcome::success(Json(nullptr));
}

struct ScriptedAgent::Shared {
  std::mutex mutex;  // Guards `calls`; the script does not change during a run.
  std::vector<SeenCall> calls;
  std::deque<ScriptedAttempt> script;
  bool repeat_last = false;
};

ScriptedAgent::ScriptedAgent() : shared_(std::make_shared<Shared>()) {}

ScriptedAttempt& ScriptedAgent::attempt() { return shared_->script.emplace_back(); }

ScriptedAgent& ScriptedAgent::repeat_last() {
  shared_->repeat_last = true;
  return *this;
}

Result<Json> ScriptedAgent::operator()(const std::string& task, Attempt& attempt) const {
  SeenCall seen{.attempt = attempt.number(),
                .run_id = attempt.run_id(),
                .task = task,
                .state = attempt.state().json(),
                .steps = attempt.trajectory().size()};
  if (const Recovery* recovery = attempt.recovery()) seen.recovery = *recovery;
  {
    const std::scoped_lock lock(shared_->mutex);
    shared_->calls.push_back(std::move(seen));
  }
  const auto& script = shared_->script;
  auto place = static_cast<std::size_t>(std::max(attempt.number(), 1)) - 1;
  if (place >= script.size() && shared_->repeat_last && !script.empty()) place = script.size() - 1;
  if (place >= script.size()) {
    return outcome::failure(attempt.fail({.text = "attempt " + std::to_string(attempt.number()) +
                                                  " is beyond the script's " +
                                                  std::to_string(script.size()) + " entries"}));
  }
  return script[place].play(attempt);
}

std::vector<SeenCall> ScriptedAgent::calls() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->calls;
}

std::size_t ScriptedAgent::call_count() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->calls.size();
}

}  // namespace triage::inline v0_1::testing
