// SPDX-License-Identifier: MIT
#pragma once
// A run being continued: by resume_run, a decision, its due time, a signal, a branch, or from this
// process's memory. Each path prepares the same value, and restore() makes it ready.

#include "base/run_catching.hpp"
#include "journal/ticket.hpp"
#include "run/run.hpp"
#include "triage/detail/run_loop.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace triage::inline v0_1::detail {

// The destructor releases the lease.
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

  // The run's terms from now on.
  [[nodiscard]] Terms terms() const;
  // `own`: the run's previous terms; `elapsed`: how long it had been working before it stopped.
  // What the caller sets wins: deadline, limits, stop token and parent.
  void set_terms(RunOptions own, const RunOptions& given, Duration elapsed);
  [[nodiscard]] Journal& journal() const noexcept { return data->journal; }
  // False: it waited in this process, which still has all of it.
  [[nodiscard]] bool was_read() const noexcept { return !reading.records.empty(); }

  const AgentCore& core;
  RunOptions options{};
  Json task{};
  std::unique_ptr<RunData> data{};
  std::optional<Json> recorded{};  // Body of `finished`, if the run has ended with a result.
  JournalReading reading{};        // Set until restore(), if the run was read from a store.
  Input first = Input::start;
  int attempts = 0;
};

// How a run continues: with an action decided while it was suspended, or with a new attempt.
struct Resumption {
  std::string reason{};                    // Recorded.
  std::optional<RecoveryAction> action{};  // Null: a new attempt …
  // … that begins at this position (0: the run's start) … With an action, 0: where the run stands.
  Sequence from = 0;
  Recovery told{};    // … and receives this.
  std::string who{};  // Who decided.
  Json child{};  // The decision is for a nested run: `run` and `action`; null: it is for this one.
  bool recorded = false;  // Already stored: the first records of a branch contain it.
};

// Makes a run ready to continue: restores its newest failure and records its resumption. A decision
// about a stored run is durable on return; everything else is before the callable runs.
[[nodiscard]] Result<ContinuationPtr> restore(ContinuationPtr run, Resumption with);

// --- Stored runs (stored.cpp).

// The store a call refers to: its own, else the agent's; null if there is none.
[[nodiscard]] std::shared_ptr<CheckpointStore> store_of(const AgentCore& core,
                                                        const RunOptions& options);
// Takes a stored run under a lease (`claimed`, or a newly acquired one), with its task, terms and
// journal.
[[nodiscard]] Result<ContinuationPtr> take_over(const AgentCore& core,
                                                std::shared_ptr<CheckpointStore> store,
                                                const RunId& id, const RunOptions& options,
                                                bool accept_changed,
                                                std::optional<Lease> claimed = {});
// Takes over a run that is still suspended at the same record. Errors: Errc::conflict if it is not.
// *gone is set if the run was erased, moved on or is held by another process.
[[nodiscard]] Result<ContinuationPtr> take_suspended(const AgentCore& core,
                                                     std::shared_ptr<CheckpointStore> store,
                                                     const RunId& id, Sequence suspended_at,
                                                     const DueOptions& options,
                                                     bool* gone = nullptr);
// Errors: Errc::conflict if the journal was recorded by a different agent.
[[nodiscard]] Result<void> check_fingerprint(const AgentCore& core, const Journal& journal);
// Errors: Errc::unsupported if the run was recorded without its task.
[[nodiscard]] Result<void> check_task(const AgentCore& core, const Journal& journal);
// Errors: Errc::conflict if the state at this position claims an effect that was, or is being,
// undone.
[[nodiscard]] Result<void> check_claims(const Journal& journal, std::size_t position);
// Loads the state at a position if the journal skipped it when it was read back.
[[nodiscard]] Result<void> learn_state(CheckpointStore& store, Journal& journal, Sequence at);

// --- Which runs may continue, and how.

// A new attempt that begins at `from` (0: the run's start).
[[nodiscard]] Resumption resumed_from(const Journal& journal, Sequence from,
                                      const std::shared_ptr<const AgentContract>& contract);
// Whether the caller named this run to continue, or accepts whatever the run allows.
enum class Asked : std::uint8_t { to_resume, for_what_fits };
[[nodiscard]] Result<ContinuationPtr> open_stored(const AgentCore& core, const RunId& id,
                                                  const ResumeOptions& options, Asked asked,
                                                  std::optional<Lease> claimed = {});
// Errors: how the run ended, if it may not continue: see ResumeOptions::revive (ended.cpp).
[[nodiscard]] Result<void> check_ended(const Continuation& run, const ResumeOptions& options,
                                       Asked asked);
// Errors: Errc::conflict if the run is, or now becomes, quarantined (poison.cpp).
[[nodiscard]] Result<void> check_poison(Continuation& run, bool revive);
// Restores what is recorded of a run and of its newest failure.
void restore_context(const Continuation& run, FailureContext& context);

// --- Decisions.

// Like open_suspended, by the token's hash.
[[nodiscard]] Result<ContinuationPtr> open_by_ticket(const AgentCore& core, const std::string& hash,
                                                     RecoveryAction action,
                                                     const Result<void>& fits,
                                                     const DecideOptions& options);
// Continues a run that waits in this process: by its token, or because it is due.
[[nodiscard]] Result<ContinuationPtr> open_remembered(const AgentCore& core,
                                                      const std::string& hash,
                                                      RecoveryAction action,
                                                      const Result<void>& fits,
                                                      const DecideOptions& options);
[[nodiscard]] Result<ContinuationPtr> open_remembered_due(const AgentCore& core, const RunId& id,
                                                          const RunOptions& options);
// What a decision about a suspension means for the run. A decision about the nested run `child` is
// carried out when the callable reaches that run again, unless it ends the outer run.
[[nodiscard]] Resumption decided(const RunId& child, RecoveryAction action, std::string who);
// A decision about a suspended run that record_decision() left to its program.
[[nodiscard]] std::optional<Resumption> recorded_decision(const Continuation& run);
// A decision that its process recorded but did not carry out before it died.
[[nodiscard]] Resumption pending_decision(const Journal& journal, std::string reason);
// Why strict_idempotency forbids this action; empty if it does not.
[[nodiscard]] std::optional<std::string> unsafe_now(const Continuation& run,
                                                    const RecoveryAction& action);
// What is kept for a token.
struct StoredTicket {
  Ticket ticket{};
  std::uint64_t version = 0;
};
// Errors: Errc::not_found if it is unknown or used; Errc::corrupt; the store's.
[[nodiscard]] Result<StoredTicket> read_ticket(KeySpace& store, const std::string& hash);
// Before its decision is recorded. Errors: Errc::not_found if somebody else was faster; the
// store's.
[[nodiscard]] Result<void> claim_ticket(KeySpace& store, const std::string& hash,
                                        StoredTicket stored, const std::string& who);
// Errors: Errc::conflict if it has expired: then it is removed.
[[nodiscard]] Result<void> check_token_time(KeySpace& store, const std::string& hash,
                                            const StoredTicket& stored, Clock& clock);
// The body of the record with which a decision continues a run.
[[nodiscard]] Json resumed_fields(const Resumption& with);
// Removes the data kept for a token that is no longer needed. If that fails, the next caller who
// comes across it removes it.
void forget_ticket(KeySpace& store, const std::string& hash);

}  // namespace triage::inline v0_1::detail
