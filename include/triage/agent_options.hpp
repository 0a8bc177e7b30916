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

// When what an attempt records reaches the store. effect() and checkpoint(label) are durable on
// return in every mode, and every mode drains before a failure is classified and before run
// returns.
enum class WriteMode : std::uint8_t {
  background,  // A thread of the store writes soon. kill -9 loses what is still queued.
  // record_step returns when it is durable, or its error ends the attempt (unless on_store_error is
  // `degrade`). kill -9 loses nothing.
  immediate,
  deferred,  // Written at drains only; no thread. For tests and simulation.
};

// What a store that fails does to the run. A run that has a run id, or that was continued, never
// returns plain success unless its end is stored: whatever is set here, `run` and `run_or_resume`
// then return the store's error, and Error::unstored_value has what the agent returned.
enum class OnStoreError : std::uint8_t {
  // The run goes on from memory, an event says so, every later drain tries again. In
  // WriteMode::immediate too: then a step that record_step returned from may be lost.
  degrade,
  fail,        // The run ends with the store's error.
  by_default,  // `degrade`; but `fail` in WriteMode::immediate, which promises that nothing is
               // lost.
};

// Called in this order after a classification. Exceptions from them are reported beside the failure
// and never hide it.
struct Hooks {
  std::function<void(const FailureContext&)> on_failure{};
  std::function<void(const FailureContext&, const RecoveryAction&)> on_recovery{};
  // Asked before any escalation, whatever its cause; an action replaces it once.
  std::function<std::optional<RecoveryAction>(const FailureContext&)> on_escalate{};
};

struct AgentOptions {
  std::string name = "agent";  // 1 to 128 of A-Z a-z 0-9 . _ : -
  std::string version = "1";   // Part of the fingerprint: change it when old runs must not go on.
  std::shared_ptr<CheckpointStore> store{};  // Null: nothing outlives the run.
  Limits limits{};
  bool auto_checkpoint = true;  // Every step ends a checkpoint. Costs no record of its own.
  WriteMode write_mode = WriteMode::background;
  OnStoreError on_store_error = OnStoreError::by_default;
  std::shared_ptr<Observer> observer{};
  std::shared_ptr<Clock> clock{};            // Null: the machine's.
  std::shared_ptr<Random> random{};          // Null: seeded by the operating system.
  std::shared_ptr<Classifier> classifier{};  // Null: EvidenceClassifier.
  AgentContract contract{};
  Hooks hooks{};
  // Escalate instead of running the callable again if the failed attempt has a step that is not
  // marked idempotent.
  bool strict_idempotency = false;
  std::size_t queue_capacity = 16'384;  // Records of one run that may wait; 1 to 1,000,000.
  // Asked before every attempt, under the agent's name as the tool, and by Attempt::enter. A
  // refusal is a failure of type external_fault; one that names no time to ask again escalates.
  std::vector<std::shared_ptr<Gate>> gates{};
  std::shared_ptr<Budget> budget{};  // For Attempt::reserve; a nested agent draws from its parent's
                                     // too.
  // How long an attempt takes; 0: not known. One that could not end before the deadline is not
  // started.
  Duration expected_duration{0};
  // How long an attempt may take, waits inside it included; 0: as long as it likes. When it is
  // over, the attempt's stop token is triggered, deadline() has passed and no effect is begun. A
  // failure that the attempt ends with from then on is a `timeout` (attempt_timeout), whatever it
  // says, unless it names a type itself; a value counts. A callable that looks at neither is not
  // interrupted. Costs a thread for each attempt that is under way.
  Duration attempt_timeout{0};
  // Expect what successful attempts of this agent under a deadline took so far: a moving average
  // with weight 1/8 (source: RFC 6298), if that is longer than expected_duration. Every eighth
  // attempt that this average alone would refuse is started all the same; if it succeeds, the
  // average becomes what it took.
  bool learn_duration = false;
  // Judges what Attempt::propose_step is given; null: everything is allowed.
  std::shared_ptr<const StepGuard> guard{};
  // A run whose process has died this often in a row while it was being resumed, without getting
  // on, is quarantined as RunStatus::poisoned. It gets on if an attempt ends, an effect is
  // completed, or other steps or changes of the state are recorded than by the process that died
  // before. 0: never; at most 1,000,000.
  int max_crashes = 3;
  CompensationOptions compensation{};
  // What effects name in EffectOptions: found again after a crash, in another process. Names have 1
  // to 128 bytes; give functions, not names of others.
  std::map<std::string, Compensation> compensations{};
  std::map<std::string, Reconcile> reconciliations{};
  // Takes secrets out of what a suspension shows, before it is stored or returned: what it leaves
  // in `task` and `proposed` is used. If it throws, neither the task nor the step's input is shown.
  // The run's own record of its task, which going on needs, stays as it is.
  std::function<void(Suspension&)> redact{};
};

// A value that is set wins over the agent's.
struct RunOptions {
  RunId run_id{};                       // Empty: made by us.
  std::optional<TimePoint> deadline{};  // Nothing is started or waited for beyond it.
  std::stop_token stop_token{};
  std::optional<Limits> limits{};
  std::shared_ptr<CheckpointStore> store{};
  std::optional<bool> auto_checkpoint{};
  std::string label{};  // At most 256 bytes; found again by RunQuery::label.
  // The attempt this run works for: lineage, deadline, stop token and classification are shared
  // with it. An agent (the same object, or the same name if it has one) that is at work on the same
  // task twice further up makes no attempt: that is a loop. Tasks without a text are not compared.
  Attempt* parent = nullptr;
};

struct ResumeOptions {
  std::string from{};           // Checkpoint id or label; empty: the newest intact position. One
                                // behind an effect that has been undone is Errc::conflict.
  bool accept_changed = false;  // Go on although name, version, policy or contract differ.
  RunOptions run{};             // run_id is ignored, label too unless the run is new.
  // Go on although the run is poisoned, or was aborted or escalated; its crashes are forgotten.
  bool revive = false;
};

}  // namespace triage::inline v0_1
