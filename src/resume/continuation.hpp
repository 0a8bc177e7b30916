// SPDX-License-Identifier: MIT
#pragma once
// A run that goes on: by resume_run, by a decision, when it is due or sent a signal, as a branch,
// or from this process's memory. All of them prepare the same value, and restore() makes it ready.

#include "base/run_catching.hpp"
#include "journal/suspension_json.hpp"
#include "run/run.hpp"
#include "triage/detail/run_loop.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace triage::inline v0_1::detail {

// Dropping it gives the lease back.
class Continuation {
 public:
  // A run that has not ended.
  explicit Continuation(const AgentCore& agent, std::unique_ptr<RunData> run = nullptr)
      : core(agent), data(run ? std::move(run) : std::make_unique<RunData>()) {}
  // A run that has ended with this result.
  Continuation(const AgentCore& agent, Json its_task, Json finished)
      : core(agent), task(std::move(its_task)), recorded(std::move(finished)) {}
  ~Continuation() {
    if (data && data->store && data->started) {
      data->store->queue().release(std::move(data->writer.lease));
    }
  }
  Continuation(const Continuation&) = delete;
  Continuation& operator=(const Continuation&) = delete;

  // What the run has from now on.
  [[nodiscard]] Terms terms() const;
  // `own` is what the run had, `elapsed` how long it was at work before it stood still. What the
  // caller who continues it has set wins: deadline, limits, stop token and parent.
  void set_terms(RunOptions own, const RunOptions& given, Duration elapsed);
  [[nodiscard]] Journal& journal() const noexcept { return data->journal; }
  // Else it waited in this process, which still knows all of it.
  [[nodiscard]] bool was_read() const noexcept { return !reading.records.empty(); }

  const AgentCore& core;
  RunOptions options{};
  Json task{};
  std::unique_ptr<RunData> data{};
  std::optional<Json> recorded{};  // Body of `finished`, if the run has ended with a result.
  JournalReading reading{};        // Until restore(), if the run was read from a store.
  Input first = Input::start;
  int attempts = 0;
};

// What a run goes on with: an action that was decided on while it stood still, or a new attempt.
struct Resumption {
  std::string reason{};                    // Recorded.
  std::optional<RecoveryAction> action{};  // Null: a new attempt …
  Sequence from = 0;  // … that begins at this position (0: the run's start) …
  Recovery told{};    // … and is told this.
  std::string who{};  // Who decided.
  Json child{};  // The decision is for a nested run: `run` and `action`; null: it is for this one.
  bool recorded = false;  // The store has it already: the first records of a branch say so.
};

// Makes a run ready to go on: its newest failure, and the record of its resumption. A decision
// about a stored run is durable on return; whatever else is recorded is so before the callable
// runs.
[[nodiscard]] Result<ContinuationPtr> restore(ContinuationPtr run, Resumption with);

// --- Stored runs (stored.cpp).

// The store that a call means: its own, else the agent's; null if there is none.
[[nodiscard]] std::shared_ptr<CheckpointStore> store_of(const AgentCore& core,
                                                        const RunOptions& options);
// A stored run under a lease of ours (`claimed`, else one that is acquired now), with the task,
// terms and journal that it had.
[[nodiscard]] Result<ContinuationPtr> take_over(const AgentCore& core,
                                                std::shared_ptr<CheckpointStore> store,
                                                const RunId& id, const RunOptions& options,
                                                bool accept_changed,
                                                std::optional<Lease> claimed = {});
// Takes over a run that still stands where it was suspended. Errors: Errc::conflict if it does not.
// *gone is set if the run is in other hands.
[[nodiscard]] Result<ContinuationPtr> take_suspended(const AgentCore& core,
                                                     std::shared_ptr<CheckpointStore> store,
                                                     const RunId& id, Sequence suspended_at,
                                                     const DueOptions& options,
                                                     bool* gone = nullptr);
// Errors: Errc::conflict if the journal was recorded by an agent that differs.
[[nodiscard]] Result<void> check_fingerprint(const AgentCore& core, const Journal& journal);
// Errors: Errc::unsupported if the run was recorded without its task.
[[nodiscard]] Result<void> check_task(const Journal& journal);
// Errors: Errc::conflict if the state at this position claims an effect that was, or is being,
// undone.
[[nodiscard]] Result<void> check_claims(const Journal& journal, std::size_t position);
// Looks the state at a position up where the journal left it out when it was read back.
[[nodiscard]] Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at);

// --- Which runs may go on, and with what.

// A new attempt that begins at `from` (0: the run's start).
[[nodiscard]] Resumption resumed_from(const Journal& journal, Sequence from,
                                      const std::shared_ptr<const AgentContract>& contract);
// What a suspended run does when its time comes: what its record says, else the first action that
// is allowed, resume if all are.
[[nodiscard]] RecoveryAction action_when_due(const Json& suspended);
// Whether somebody asked for this very run to go on, or for whatever fits.
enum class Asked : std::uint8_t { to_resume, for_what_fits };
[[nodiscard]] Result<ContinuationPtr> open_stored(const AgentCore& core, const RunId& id,
                                                  const ResumeOptions& options, Asked asked,
                                                  std::optional<Lease> claimed = {});
// Errors: how the run ended, if that is final: see ResumeOptions::revive (ended.cpp).
[[nodiscard]] Result<void> check_ended(const Continuation& run, const ResumeOptions& options,
                                       Asked asked);
// Errors: Errc::conflict if the run is quarantined, or is so from now on (poison.cpp).
[[nodiscard]] Result<void> check_poison(Continuation& run, bool revive);
// What is known of a run, and of its newest failure, as far as it is recorded.
void restore_context(const Continuation& run, FailureContext& context);

// --- Decisions.

// As open_suspended, by the hash of the token.
[[nodiscard]] Result<ContinuationPtr> open_by_ticket(const AgentCore& core, const std::string& hash,
                                                     RecoveryAction action,
                                                     const DecideOptions& options);
// Goes on with a run that waits in this process: by its token, or because it is due.
[[nodiscard]] Result<ContinuationPtr> open_remembered(const AgentCore& core,
                                                      const std::string& hash,
                                                      RecoveryAction action,
                                                      const DecideOptions& options);
[[nodiscard]] Result<ContinuationPtr> open_remembered_due(const AgentCore& core, const RunId& id,
                                                          const RunOptions& options);
// What a decision about a suspension means for the run: one about a nested run, given by its id, is
// carried out where the callable comes to it again, unless it ends the run around it.
[[nodiscard]] Resumption decided(const RunId& child, RecoveryAction action, std::string who);
// The decision of a process that died before it had carried it out.
[[nodiscard]] Resumption pending_decision(const Journal& journal, std::string reason);
// Why strict_idempotency forbids to carry this out, if it does.
[[nodiscard]] std::optional<std::string> unsafe_now(const Continuation& run,
                                                    const RecoveryAction& action);
// Removes what is kept of a token that is of no use any more. What cannot be removed is left to the
// next one who comes across it.
void forget_ticket(KeySpace& store, const std::string& hash);

}  // namespace triage::inline v0_1::detail
