// SPDX-License-Identifier: MIT
#pragma once
// A callable that follows a script, attempt by attempt, and records how it was called.

#include "triage/attempt.hpp"
#include "triage/failure.hpp"
#include "triage/json.hpp"
#include "triage/result.hpp"

#include <concepts>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::testing {

// What one attempt does: actions in order, then one end. Without an end it succeeds with null.
class ScriptedAttempt {
 public:
  ScriptedAttempt& step(Step step);
  ScriptedAttempt& state(Json patch);  // An object; merged like update_state.
  ScriptedAttempt& usage(Usage usage);
  ScriptedAttempt& checkpoint(std::string label);
  // Any other action. May throw.
  ScriptedAttempt& perform(std::function<void(Attempt&)> deed);

  ScriptedAttempt& succeed(Json value = nullptr);
  ScriptedAttempt& fail(Failure failure);
  template <std::copy_constructible E>
  ScriptedAttempt& throw_error(E exception) {
    end_ = [exception = std::move(exception)](Attempt&) -> Result<Json> { throw exception; };
    return *this;
  }
  ScriptedAttempt& end(std::function<Result<Json>(Attempt&)> end);

 private:
  friend class ScriptedAgent;
  Result<Json> play(Attempt& attempt) const;

  std::vector<std::function<void(Attempt&)>> deeds_{};
  std::function<Result<Json>(Attempt&)> end_{};
};

// What the callable saw when it was called.
struct SeenCall {
  int attempt = 0;  // Attempt::number().
  std::string run_id{};
  std::string task{};
  std::optional<Recovery> recovery{};  // Empty in the first attempt of a run.
  Json state{};                        // As restored; an object.
  std::size_t steps = 0;               // Restored ones only.
};

//   ScriptedAgent script;
//   script.attempt().fail(failures::http(503));
//   script.attempt().succeed("done");
//   TriageAgent agent{script, policy, options};
// Each run plays the script from its start: attempt n follows the n-th entry. Copies share script
// and records, so the original sees the calls of the agent's copy.
// Thread-safety: write the script first; then runs on several threads may play it.
class ScriptedAgent {
 public:
  ScriptedAgent();

  // Adds an entry. The reference stays valid.
  ScriptedAttempt& attempt();
  // Further attempts replay the last entry. Without this they fail and say so.
  ScriptedAgent& repeat_last();

  Result<Json> operator()(const std::string& task, Attempt& attempt) const;

  // In the order of calling.
  [[nodiscard]] std::vector<SeenCall> calls() const;
  [[nodiscard]] std::size_t call_count() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace triage::inline v0_1::testing
