// SPDX-License-Identifier: MIT
#pragma once
// The data of a run beside its frame, once something was recorded, reported or stored.

#include "base/made_once.hpp"
#include "effects/effects.hpp"
#include "run/asking.hpp"
#include "run/attempt_time.hpp"
#include "run/linked_stop.hpp"
#include "run/run_machine.hpp"
#include "storage/commit_queue.hpp"
#include "triage/agent_options.hpp"
#include "triage/attempt.hpp"
#include "triage/detail/run_loop.hpp"
#include "triage/journal.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace triage::inline v0_1::detail {

// What lives until the next attempt, or until the run goes on.
struct AttemptData {
  std::shared_ptr<const Failure> reported{};      // Null: nothing yet.
  std::shared_ptr<const FailureContext> child{};  // Failure of a nested agent …
  Sequence child_at = 0;                          // … and the newest record at that time.
  std::optional<Error> sticky{};                  // Ends the run when the callable returns.
  std::uint64_t newest_call_tokens = 0;
  const char* no_attempt = nullptr;  // Why no more can be started; static.
  bool stopped = false;              // AttemptStopped was thrown for what is in `reported`.
  bool gate_refused = false;         // A gate refused the attempt …
  bool gate_closed = false;          // … and named no time to retry.
};

// Likewise, of what only few runs need.
struct AttemptExtras {
  std::vector<StepBreach> breaches{};             // By its steps.
  std::optional<Classification> broken_return{};  // Why the returned value is not a success.
  std::optional<RecoveryAction> asked{};  // What a guard wants instead of the policy's answer …
  std::string proposed{};                 // … and the fingerprint of the step it judged.
  std::vector<AskedWait> waits{};         // Those of its threads end the attempt together.
  std::map<std::string, int> sleeps{};    // How often it slept, by its state.
  Asking asking{};
  WaitingChildren children{};
};

// What only few runs need: effects, gates, guards, waits. Allocated on first use, because a process
// may have many runs open.
struct RunExtras {
  AttemptExtras attempt{};
  EffectTurns effect_turns{};
  // Effects whose compensation or reconciliation only this process knows.
  std::map<std::string, EffectOptions, std::less<>> effect_options{};
  ProvenArguments proven_arguments{};
  std::unique_ptr<AttemptTime> attempt_time{};      // Of the current attempt, if limited.
  std::set<std::thread::id> carried{};              // Threads of the attempt's TaskGroups.
  std::unique_ptr<AttemptTime> run_time{};          // Of the run, once its attempt asked.
  std::shared_ptr<const AgentContract> contract{};  // The callable's; null: the agent's.
  std::string decided_by{};                         // DecideOptions::who, until it is recorded.
  // The records of signals' answers that this process has made.
  std::map<std::string, Sequence, std::less<>> answered{};
  std::string token{};         // Of a suspension that begins, until it is returned.
  std::string spent_ticket{};  // Hash of the token by which the run continued.
  std::set<RunId> taken{};     // Awaited nested runs that a call is just continuing.
};

// Data needed once something fails.
struct Failing {
  Failing() noexcept {}      // User-provided, so that make_unique does not clear the memory first.
  FailureContext context{};  // Its history grows with each failure.
  Situation situation{};     // Exchanged by the driver and the machine.
};

// What a run has beside its frame. Outlives it when the run is suspended.
struct RunData {
  RunData() {}  // User-provided, so that make_unique does not clear the memory first.
  explicit RunData(bool auto_checkpoint) : journal({}, auto_checkpoint) {}

  // Made under the run's lock while an attempt is open.
  [[nodiscard]] RunExtras& extras() {
    if (!made_extras) made_extras = std::make_unique<RunExtras>();
    return *made_extras;
  }
  std::unique_ptr<RunExtras> made_extras{};  // Null until needed.

  // Of the newest failure. Made by whichever thread needs it first.
  [[nodiscard]] Failing& failing() {
    if (Failing* made = made_failing.get()) return *made;
    return made_failing.offer(std::make_unique<Failing>());
  }
  [[nodiscard]] FailureContext& context() { return failing().context; }
  [[nodiscard]] Situation& situation() { return failing().situation; }
  MadeOnce<Failing> made_failing{};  // Null until something fails.
  // What the current attempt reported; without facts if nothing.
  [[nodiscard]] const Failure& failure() const noexcept {
    static const Failure none;
    return attempt.reported ? *attempt.reported : none;
  }
  // How the run's records are written.
  void write_as(const AgentOptions& options) noexcept {
    writer.background = options.write_mode == WriteMode::background;
    writer.capacity = options.queue_capacity;
  }
  void report(Failure failure) {
    attempt.reported = std::make_shared<const Failure>(std::move(failure));
  }
  // Clears what the previous attempt left behind.
  void begin_attempt() {
    attempt = {};
    if (made_extras) made_extras->attempt = {};
    if (Failing* failed = made_failing.get()) {
      failed->situation.undoing_refused = false;
      failed->situation.spent_limit.clear();
    }
  }
  // The callable has failed with it: the doubt about an effect that try_effect has returned counts
  // as if effect had thrown it. One about a nested run's effect is a failure like others.
  void stick_to_doubt(const Error& error) {
    if (attempt.sticky || error.code != Errc::in_doubt) return;
    const auto& effects = journal.effects();
    if (std::any_of(effects.begin(), effects.end(), [](const auto& one) {
          return one.second.status == EffectState::Status::intended;
        })) {
      attempt.sticky = error;
    }
  }

  AttemptData attempt{};
  Journal journal{};
  RunWriter writer{};
  std::shared_ptr<CheckpointStore> store{};
  // Written by the thread that flushes or renews, read by all that record.
  std::atomic<bool> started{false};    // The store knows the run and we hold its lease.
  std::atomic<bool> detached{false};   // The store failed; the run continues in memory.
  std::atomic<bool> fenced{false};     // Another owner has the run; nothing is written any more.
  std::size_t opening = 0;             // How many of writer.pending start() takes.
  Sequence dropped = 0;                // Up to here, a gap may stand for what was recorded.
  std::optional<Error> refused{};      // The store will never take it: the run must fail.
  std::optional<TimePoint> renewed{};  // When a wait last renewed the lease.
  Sequence damaged_at = 0;             // First unusable record when the run was resumed.
  std::mutex flushing{};  // One flush of this run at a time; taken before the run's mutex.
  std::unique_ptr<Recovery> recovery{};
  std::size_t restored_steps = 0;  // At the start of the current attempt.
  std::optional<std::size_t> rolled_back_step{};
  std::uint64_t late_calls = 0;
  // For the current failure, by threads that record; collected by the driver.
  std::vector<std::string> new_notes{};
  Json task{};                                // Null if it is not stored.
  std::unique_ptr<RecoveryAction> decided{};  // The action passed to decide().
  std::optional<TimePoint> started_at{};
  bool died_at_limit = false;  // Its process died, and its limits allow no other attempt.
  std::unique_ptr<LinkedStop> linked_stop{};
  Outcome outcome{};                             // How the run ends, unless with a value …
  std::unique_ptr<RecoveryAction> suspension{};  // … or by waiting for a decision.
  int classified_attempt = -1;                   // The attempt context() describes; -1: none yet.
  std::optional<Sequence> chosen_from{};         // The checkpoint named by ResumeOptions::from.
};

}  // namespace triage::inline v0_1::detail
