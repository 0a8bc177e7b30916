// SPDX-License-Identifier: MIT
#pragma once
// Operator actions on a stored run, from outside its program: they need neither callable nor
// policy.

#include "triage/checkpoint_store.hpp"
#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/result.hpp"
#include "triage/run_id.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace triage::inline v0_1 {

struct OperatorOptions {
  std::string who{};               // Recorded with the action. At most 256 bytes.
  std::shared_ptr<Clock> clock{};  // Null: the machine's.
};

// Errors of functions that write to the run's journal: Errc::not_found (no such run); Errc::busy (a
// living owner is working on it); Errc::corrupt (it is damaged); Errc::invalid_argument (`who` is
// too long); the store's.

// Like TriageAgent::signal: answers Attempt::wait(name) once, even if the run does not exist yet.
// Sending the same value again succeeds. Errors: Errc::conflict if the run has finished, or the
// name was answered: with another value, or by the end of the wait.
[[nodiscard]] Result<void> send_signal(CheckpointStore& store, const RunId& run,
                                       std::string_view name, const Json& value);

// Cancels a run that waits or whose process died, as its stop token would have; only resume_run
// continues it. Undoes no effects. Invalidates its token. A nested run that it waits for is not
// affected. Errors: Errc::conflict if it has already ended.
[[nodiscard]] Result<void> cancel_run(CheckpointStore& store, const RunId& run,
                                      const OperatorOptions& options = {});

// What was found out about an effect in doubt.
struct Settlement {
  bool happened = false;
  Json result{};  // What the effect would have returned; null if it did not happen.
};
// Records whether an effect in doubt happened, as its `reconcile` would have, so that the run can
// continue; if its undoing is in doubt, whether the undoing happened. This is final, and is not
// verified. Errors: Errc::not_found (no such effect); Errc::conflict if it is not in doubt;
// Errc::invalid_argument (a result that cannot be stored, or a result although it did not happen);
// Errc::unsupported if the effect's intent, and with it what it was, is lost: then it can only be
// settled as not happened.
[[nodiscard]] Result<void> settle_effect(CheckpointStore& store, const RunId& run,
                                         std::string_view key, const Settlement& found,
                                         const OperatorOptions& options = {});

// The run that waits for a decision under this token. The token stays good.
// Errors: Errc::not_found if it is unknown, used or for a run in no store; Errc::corrupt.
[[nodiscard]] Result<RunId> run_of_token(CheckpointStore& store, std::string_view token);

// Decides about a suspended run without its program: like TriageAgent::decide, but the decision is
// only recorded, durably and once. The program's next work(), resume_due() or run_or_resume()
// carries it out. An `abort` is carried out at once, unless the run has effects that can be undone.
// The program checks the rest: it refuses to continue if its fingerprint has changed, and escalates
// what strict_idempotency forbids. Returns the run. Errors: as of TriageAgent::decide, except
// conflict for another agent or another fingerprint; Errc::corrupt.
[[nodiscard]] Result<RunId> record_decision(CheckpointStore& store, std::string_view token,
                                            const RecoveryAction& action,
                                            const OperatorOptions& options = {});

// A new token for a suspended run whose token was lost; invalidates the old one. Anyone with access
// to the store can do this: a token does not protect against them. Errors: Errc::conflict if the
// run does not wait, or waits for a time or a signal inside an attempt; Errc::unsupported if the
// store has no key space.
[[nodiscard]] Result<std::string> reissue_token(CheckpointStore& store, const RunId& run,
                                                const OperatorOptions& options = {});

}  // namespace triage::inline v0_1
