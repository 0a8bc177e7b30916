// SPDX-License-Identifier: MIT
#pragma once
// How an agent and its runs are set up.

#include "triage/budget.hpp"
#include "triage/checkpoint_store.hpp"
#include "triage/classifier.hpp"
#include "triage/clock.hpp"
#include "triage/contract.hpp"
#include "triage/effect.hpp"
#include "triage/gate.hpp"
#include "triage/guard.hpp"
#include "triage/limits.hpp"
#include "triage/observer.hpp"
#include "triage/policy.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace triage::inline v0_1 {

class Attempt;

// When recorded facts reach the store. In every mode, effect() and checkpoint(label) are durable on
// return, and the queue drains before a failure is classified and before run returns.
enum class WriteMode : std::uint8_t {
  background,  // The store's thread writes soon. kill -9 loses what is still queued.
  // record_step returns once the step is durable, or its error ends the attempt (unless
  // on_store_error is `degrade`). kill -9 loses nothing.
  immediate,
  deferred,  // Written at drains only, without a thread. For tests and simulation.
};

// What a failing store does to the run. In all cases: if the end of a run that has a run id, or was
// continued, cannot be stored, `run` and `run_or_resume` return the store's error, and
// Error::unstored_value holds what the agent returned.
enum class OnStoreError : std::uint8_t {
  // The run continues from memory, an event reports it, and every later drain tries again; steps
  // may be lost, in WriteMode::immediate too.
  degrade,
  fail,        // The run ends with the store's error.
  by_default,  // `degrade`; in WriteMode::immediate, which promises to lose nothing, `fail`.
};

// Called in this order after a classification. Their exceptions are reported beside the failure and
// never hide it.
struct Hooks {
  std::function<void(const FailureContext&)> on_failure{};
  std::function<void(const FailureContext&, const RecoveryAction&)> on_recovery{};
  // Called before any escalation, whatever its cause; a returned action replaces it, once.
  std::function<std::optional<RecoveryAction>(const FailureContext&)> on_escalate{};
};

struct AgentOptions {
  std::string name = "agent";  // 1 to 128 of A-Z a-z 0-9 . _ : -
  std::string version = "1";   // Part of the fingerprint: change it to stop old runs from resuming.
  std::shared_ptr<CheckpointStore> store{};  // Null: nothing outlives the run.
  Limits limits{};
  bool auto_checkpoint = true;  // Every step ends a checkpoint, at no extra record.
  WriteMode write_mode = WriteMode::background;
  OnStoreError on_store_error = OnStoreError::by_default;
  std::shared_ptr<Observer> observer{};
  std::shared_ptr<Clock> clock{};            // Null: the machine's.
  std::shared_ptr<Random> random{};          // Null: seeded by the operating system.
  std::shared_ptr<Classifier> classifier{};  // Null: EvidenceClassifier.
  AgentContract contract{};
  Hooks hooks{};
  // Escalate instead of calling the callable again if the failed attempt has a step that is not
  // marked idempotent.
  bool strict_idempotency = false;
  std::size_t queue_capacity = 16'384;  // Records of one run that may queue; 1 to 1,000,000.
  // Asked before every attempt, with the agent's name as the tool, and by Attempt::enter. A refusal
  // is a failure of type external_fault; without a time to ask again, it escalates.
  std::vector<std::shared_ptr<Gate>> gates{};
  std::shared_ptr<Budget> budget{};  // For Attempt::reserve; a nested agent also draws from its
                                     // parent's.
  // Expected duration of an attempt; 0: unknown. No attempt is started that could not end before
  // the deadline.
  Duration expected_duration{0};
  // The time limit of an attempt, including waits inside it; 0: none. When it is over, the
  // attempt's stop token is triggered, deadline() has passed and no effect starts. A failure after
  // that is a `timeout` (attempt_timeout), whatever its text, unless it names a type itself; a
  // value still counts. A callable that checks neither is not interrupted. Costs a thread for each
  // attempt in progress.
  Duration attempt_timeout{0};
  // Also expect what this agent's successful attempts under a deadline took: a moving average with
  // weight 1/8 (source: RFC 6298), used if longer than expected_duration. Every eighth attempt that
  // only this average would refuse is started anyway; if it succeeds, its time becomes the average.
  bool learn_duration = false;
  // Judges the steps passed to Attempt::propose_step; null: every step is allowed.
  std::shared_ptr<const StepGuard> guard{};
  // A run whose process dies this many times in a row while it is resumed, without progress, is
  // quarantined as RunStatus::poisoned. Progress: an attempt ends, an effect completes, or steps or
  // state changes are recorded that differ from those before the previous death. 0: never
  // quarantined; at most 1,000,000.
  int max_crashes = 3;
  CompensationOptions compensation{};
  // Functions for the names in EffectOptions, so that another process finds them after a crash.
  // Names have 1 to 128 bytes; the values must be functions, not names.
  std::map<std::string, Compensation> compensations{};
  std::map<std::string, Reconcile> reconciliations{};
  // Removes secrets from a suspension before it is stored or returned; only its changes to `task`
  // and `proposed` count. If it throws, the task and the step's input are left out. The run's own
  // record of its task, needed to resume, stays unredacted.
  std::function<void(Suspension&)> redact{};
};

// Values that are set override the agent's.
struct RunOptions {
  RunId run_id{};                       // Empty: generated.
  std::optional<TimePoint> deadline{};  // Nothing is started or waited for after it.
  std::stop_token stop_token{};
  std::optional<Limits> limits{};
  std::shared_ptr<CheckpointStore> store{};
  std::optional<bool> auto_checkpoint{};
  // At most 256 bytes, not beginning with "triage/"; searchable by RunQuery::label.
  std::string label{};
  // The attempt this run works for; the run shares its lineage, deadline, stop token and
  // classification. If the same agent (object or name) is already working on the same task twice
  // further up, that is a loop and no attempt is made. Tasks without a text are not compared.
  Attempt* parent = nullptr;
  // Called for each step and usage that the run, or one below it, records; on the thread that
  // records it.
  std::function<void()> on_activity{};
};

struct ResumeOptions {
  std::string from{};  // Checkpoint id or label; empty: the newest intact position. Errc::conflict
                       // if an effect before it was undone since.
  bool accept_changed = false;  // Resume even if name, version, policy or contract differ.
  RunOptions run{};             // run_id is ignored; so is label unless the run is new.
  // Resume even a poisoned, aborted or escalated run; its crash count is reset.
  bool revive = false;
};

}  // namespace triage::inline v0_1
