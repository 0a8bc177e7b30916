// SPDX-License-Identifier: MIT
#pragma once
// A run that is about to go on: what resume_run, decide, resume_due and fork prepare.

#include "base/shield.hpp"
#include "journal/suspension_json.hpp"
#include "run/run.hpp"
#include "triage/detail/run_loop.hpp"

#include <cstdint>
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
  ContinuationPtr opened{};  // With task, terms, store and lease; the body's journal is empty.
  Journal journal{};
  JournalReading reading{};
  // That the run has from now on.
  [[nodiscard]] Terms terms() const;
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
// Errors: Errc::conflict if the state at this position claims an effect that was, or is being,
// undone.
[[nodiscard]] Result<void> check_claims(const Journal& journal, std::size_t position);
// What the callable is told when a run goes on from `from` (0: its start).
[[nodiscard]] Recovery resumed_recovery(const Journal& journal, Sequence from,
                                        const std::shared_ptr<const AgentContract>& contract);
// Looks the state at a position up where the journal left it out when it was read back.
[[nodiscard]] Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at);
// Goes on from that position with a new attempt.
[[nodiscard]] Result<ContinuationPtr> go_on(TakenOver taken, Sequence from, Recovery recovery);
// Takes over a run that still stands where it was suspended. Errors: Errc::conflict if it does not.
// *gone is set if the run is in other hands.
[[nodiscard]] Result<TakenOver> take_suspended(const AgentCore& core,
                                               std::shared_ptr<CheckpointStore> store,
                                               const RunId& id, Sequence suspended_at,
                                               const DueOptions& options, bool* gone = nullptr);
// Goes on with a run that waits in this process: by its token, or because it is due.
[[nodiscard]] Result<ContinuationPtr> open_remembered(const AgentCore& core,
                                                      const std::string& hash,
                                                      RecoveryAction action,
                                                      const DecideOptions& options);
[[nodiscard]] Result<ContinuationPtr> open_remembered_due(const AgentCore& core, const RunId& id,
                                                          const RunOptions& options);
// What a suspended run does when its time comes: what its record says, else the first action that
// is allowed, resume if all are.
[[nodiscard]] RecoveryAction action_when_due(const Json& suspended);

// Whether somebody asked for this very run to go on, or for whatever fits.
enum class Asked : std::uint8_t { to_go_on, for_what_fits };
[[nodiscard]] Result<ContinuationPtr> open_stored(const AgentCore& core, const RunId& id,
                                                  const ResumeOptions& options, Asked asked);
// Errors: how the run ended, if that is final: see ResumeOptions::revive (ended.cpp).
[[nodiscard]] Result<void> check_ended(const AgentCore& core, const JournalReading& reading,
                                       const Journal& journal, const ResumeOptions& options,
                                       Asked asked);
// What is known of a run, and of its newest failure, as far as it is recorded (decided.cpp).
void restore_context(const AgentCore& core, const JournalReading& reading, const Journal& journal,
                     const Json& task, FailureContext& context);
// Goes on with an action that was decided on outside; the decision is durable on return.
struct OutsideDecision {
  RecoveryAction action{};
  std::string who{};
  std::string reason = "decided";
  Json child{};  // For a nested run: `run` and `action`; null: for this run itself.
};
// What a decision about a suspension means for the run: one about a nested run, given by its id, is
// carried out where the callable comes to it again, unless it ends the run around it.
[[nodiscard]] OutsideDecision outside_decision(const RunId& child, RecoveryAction action,
                                               std::string who);
// The body of the `resumed` that makes it durable.
[[nodiscard]] Json resumed_fields(const OutsideDecision& decision);
// As open_suspended, by the hash of the token.
[[nodiscard]] Result<ContinuationPtr> open_by_ticket(const AgentCore& core, const std::string& hash,
                                                     RecoveryAction action,
                                                     const DecideOptions& options);
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
