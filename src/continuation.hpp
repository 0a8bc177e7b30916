// SPDX-License-Identifier: MIT
#pragma once
// A run that is about to go on: what resume_run, decide, resume_due and fork prepare.

#include "run.hpp"
#include "shield.hpp"
#include "suspension_json.hpp"
#include "triage/detail/run_loop.hpp"

#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1::detail {

class Continuation {
 public:
  explicit Continuation(const AgentCore& agent) : core(agent) {}
  ~Continuation() {
    if (body && body->store && body->started) {
      body->store->queue().release(std::move(body->writer.lease));
    }
  }
  Continuation(const Continuation&) = delete;
  Continuation& operator=(const Continuation&) = delete;

  const AgentCore& core;
  RunOptions options{};
  Json task{};
  std::unique_ptr<RunBody> body{};
  std::optional<Json> recorded{};  // Body of `finished`, if the run has ended with a result.
  Input first = Input::start;
  int attempts = 0;
};

// A stored run whose lease is ours. Dropping it gives the lease back.
struct TakenOver {
  ContinuationPtr opened{};  // With task, store and lease; the body's journal is still empty.
  Journal journal{};
  JournalReading reading{};
};

// The store that a call means: its own, else the agent's; null if there is none.
[[nodiscard]] std::shared_ptr<CheckpointStore> store_of(const AgentCore& core,
                                                        const RunOptions& options);
[[nodiscard]] Result<TakenOver> take_over(const AgentCore& core,
                                          std::shared_ptr<CheckpointStore> store, const RunId& id,
                                          const RunOptions& options, bool accept_changed);
// Errors: Errc::conflict if the journal was recorded by an agent that differs.
[[nodiscard]] Result<void> check_fingerprint(const AgentCore& core, const Journal& journal);
// Errors: Errc::unsupported if the run was recorded without its task.
[[nodiscard]] Result<void> check_task(const Journal& journal);
// What the callable is told when a run goes on from `from` (0: its start).
[[nodiscard]] Recovery resumed_recovery(const Journal& journal, Sequence from,
                                        const std::shared_ptr<const AgentContract>& contract);
// Looks the state at a position up where the journal left it out when it was read back.
[[nodiscard]] Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at);
// Goes on from that position with a new attempt.
[[nodiscard]] Result<ContinuationPtr> go_on(TakenOver taken, Sequence from, Recovery recovery);
// Takes over a run that still stands where it was suspended. Errors: Errc::conflict if it does not.
[[nodiscard]] Result<TakenOver> take_suspended(const AgentCore& core,
                                               std::shared_ptr<CheckpointStore> store,
                                               const RunId& id, Sequence suspended_at,
                                               const RunOptions& options, bool accept_changed);
// Goes on with an action that was decided on outside; the decision is durable on return.
struct OutsideDecision {
  RecoveryAction action{};
  std::string who{};
  std::string reason = "decided";
};
[[nodiscard]] Result<ContinuationPtr> carry_out(TakenOver taken, OutsideDecision decision);
// Why strict_idempotency forbids to carry this out, if it does.
[[nodiscard]] std::optional<std::string> unsafe_now(const TakenOver& taken,
                                                    const RecoveryAction& action);
// Removes what is kept of a token that is of no use any more. What cannot be removed stays, and
// harms nobody.
void forget_ticket(KeySpace& store, const std::string& hash);
// The decision of a process that died before it had carried it out.
[[nodiscard]] OutsideDecision pending_decision(const Journal& journal, std::string reason);

// Errors: Errc::conflict if the run is quarantined, or is so from now on (poison.cpp).
[[nodiscard]] Result<void> check_poison(TakenOver& taken, bool revive);

}  // namespace triage::inline v0_1::detail
