// SPDX-License-Identifier: MIT
#pragma once
// One run: everything that belongs to it and nothing else. Made on the caller's stack; its body is
// made when something is first recorded, reported or stored.

#include "agent_core.hpp"
#include "commit_queue.hpp"
#include "effects.hpp"
#include "run_machine.hpp"
#include "triage/attempt.hpp"
#include "triage/journal.hpp"

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// The part of a run that outlives its stack frame when it is suspended.
struct RunBody {
  Journal journal{};
  RunWriter writer{};
  std::shared_ptr<CheckpointStore> store{};
  bool started = false;      // The store knows the run and we hold its lease.
  bool detached = false;     // The store failed; the run goes on from memory.
  bool fenced = false;       // Another owner has the run: nothing is written any more.
  Sequence damaged_at = 0;   // First record that could not be used when the run was resumed.
  std::mutex flushing{};     // One flush of this run at a time; taken before the run's mutex.
  FailureContext context{};  // Of the newest failure; its history grows with each.
  Failure failure{};         // As the current attempt reported it.
  std::shared_ptr<const FailureContext> child{};  // Failure of a nested agent in this attempt …
  Sequence child_at = 0;                          // … and the newest record at that time.
  std::optional<Recovery> recovery{};
  std::optional<Error> sticky{};  // Ends the run when the callable returns.
  std::optional<AgentContract> contract{};
  std::size_t restored_steps = 0;  // At the start of the current attempt.
  std::optional<std::size_t> rolled_back_step{};
  std::uint64_t late_calls = 0;
  EffectTurns effect_turns{};
  // Of effects whose compensation or reconciliation only this process knows.
  std::map<std::string, EffectOptions, std::less<>> effect_options{};
  Json task{};               // Null if it is not stored.
  RecoveryAction decided{};  // What decide() was given.
  std::optional<TimePoint> started_at{};
  Permit permit{};                // Of the attempt under way, if the agent has gates.
  bool no_time = false;           // The attempt could not have ended before the deadline.
  bool gate_closed = false;       // A gate refused the attempt and named no time to ask again.
  int classified_attempt = -1;    // Whose failure `context` describes; -1: there was none yet.
  bool escalation_asked = false;  // on_escalate has been asked about it.
  bool undoing_refused = false;   // An effect to be undone is in doubt.
};

// Stops when either of two tokens does: the run's own, and its parent's.
class LinkedStop {
 public:
  LinkedStop(const std::stop_token& a, const std::stop_token& b)
      : a_(a, Forward{&both_}), b_(b, Forward{&both_}) {}
  [[nodiscard]] std::stop_token token() const { return both_.get_token(); }

 private:
  struct Forward {
    std::stop_source* to;
    void operator()() const noexcept { to->request_stop(); }
  };
  std::stop_source both_{};
  std::stop_callback<Forward> a_;
  std::stop_callback<Forward> b_;
};

// The recorded result of a run that has finished, put into the call's frame.
Outcome recorded_result(const AgentCore& core, Call call, const RunOptions& options,
                        bool* degraded);

class Run final : public Decider {
 public:
  Run(const AgentCore& core, Call call, const RunOptions& options);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // --- Course of the run (run_loop.cpp, run.cpp).
  // What must happen before the first attempt; most runs need nothing. An Error ends the run;
  // *recorded says that the frame holds the recorded result of a run that is already finished.
  [[nodiscard]] bool needs_set_up() const noexcept { return needs_set_up_; }
  Result<void> set_up(bool* recorded);
  // Takes over what open_run or open_suspended prepared.
  void adopt(std::unique_ptr<RunBody> body, int attempts);
  // Drives the machine to its end.
  Outcome drive(Input first);
  [[nodiscard]] bool degraded() const noexcept { return degraded_; }

  // --- Recording, for Attempt (run_recording.cpp). All lock.
  void record_step(int attempt, Step&& step);
  void update_state(int attempt, Json patch);
  void remove_state(int attempt, std::string_view key);
  void replace_state(int attempt, Json state);
  void record_usage(int attempt, const Usage& usage);
  void set_contract(int attempt, AgentContract contract);
  Result<CheckpointId> checkpoint(int attempt, std::string_view label);
  Result<Json> effect(int attempt, const EffectRequest& request);
  Error report(int attempt, Failure failure);
  // For Attempt (run_gates.cpp).
  Result<Permit> enter_call(int attempt, std::string_view tool, std::string_view endpoint,
                            bool retry);
  Result<Reservation> reserve(int attempt, const Usage& estimate);
  void report_error(int attempt, Error error);
  void stick(Error error);
  [[nodiscard]] std::optional<Error> sticky() const;
  [[nodiscard]] State state() const;
  [[nodiscard]] Trajectory trajectory() const;
  [[nodiscard]] const Recovery* recovery() const;
  void child_failed(std::shared_ptr<const FailureContext> failure);

  [[nodiscard]] const RunId& id();
  [[nodiscard]] int attempt_number() const noexcept { return attempt_; }
  [[nodiscard]] const std::stop_token& stop_token() const noexcept { return stop_; }
  [[nodiscard]] const std::optional<TimePoint>& deadline() const noexcept { return deadline_; }

 private:
  friend class Effects;
  using Lock = std::unique_lock<std::mutex>;

  // --- run.cpp
  RunBody& body();  // The caller holds mutex_, or no attempt is open.
  [[nodiscard]] TimePoint now() const { return core_.clock->now(); }
  void link_stop_tokens(const std::stop_token& parent);
  [[nodiscard]] bool has_store() const noexcept { return body_ && body_->store; }
  void emit(EventKind kind, Event event);
  void emit(EventKind kind);
  void deliver(const Event& event);
  void note(std::string text);  // Reported beside the failure that is being handled.
  Result<Record> run_started();
  void add_record(RecordKind kind, Json fields);  // Nothing without a store.
  void enqueue(Record record);                    // The caller holds mutex_.
  void snapshot_if_due();                         // Likewise.
  void make_room();                               // Likewise; before a record is made.
  Result<void> start_in_store();
  Result<void> flush();                     // What the drains below share.
  Result<void> drain_or_degrade();          // By the run's OnStoreError: an error ends the run.
  Input drain();                            // The same, for the machine.
  Result<void> drain_strictly();            // For effects, labelled checkpoints and suspensions.
  void drop_pending();                      // The caller holds mutex_.
  [[nodiscard]] bool is_late(int attempt);  // The caller holds mutex_.
  void write_through(Lock lock);            // Unlocks; then what the write mode asks for.

  // --- run_loop.cpp
  void announce_start();
  Input invoke();
  void prepare_attempt();
  Input run_callable(Attempt& attempt);
  Input settle(Input result);
  Input wait(TimePoint until);
  [[nodiscard]] std::optional<Input> refuse_to_start();
  Input too_late_to_start(std::string text);
  [[nodiscard]] Duration expected_duration() const noexcept;
  void learn_duration() noexcept;
  Input cancel(std::string detail);
  Outcome end();
  void record_result(bool degraded);
  void end_in_store(RunStatus status, Json fields);
  Outcome hand_over(const std::shared_ptr<const FailureContext>& context);

  // --- run_gates.cpp
  GateAnswer pass_gates(GateRequest request, Permit& permit);
  [[nodiscard]] static Failure refusal(const GateAnswer& answer);
  [[nodiscard]] std::optional<Input> enter_attempt();
  void leave_attempt(bool succeeded);
  Error report_exhausted(int attempt, Error error);

  // --- capture.cpp
  void capture(const std::exception& exception);
  void capture_unknown();

  // --- decide.cpp
  Decision decide() override;
  Decision decided_outside() override;
  void classify();
  [[nodiscard]] Classification ask_classifier();
  void complete_context();
  [[nodiscard]] std::optional<std::string> exhausted_limit() const;
  [[nodiscard]] RecoveryAction choose();
  [[nodiscard]] RecoveryAction ask_policy();
  [[nodiscard]] RecoveryAction before_escalation(RecoveryAction action, bool by_limit);
  [[nodiscard]] std::string task_text() const;
  [[nodiscard]] std::optional<std::string> unsafe_to_rerun(const RecoveryAction& action) const;
  void call_hook(std::string_view name, const std::function<void()>& hook);

  // --- act.cpp
  void announce(const RecoveryAction& action);
  Decision act(const RecoveryAction& action);
  Decision escalate_instead(std::string message);
  Decision start_again(const RecoveryAction& action);
  Decision roll_back(const RecoveryAction& action);
  Decision resume(const RecoveryAction& action);
  Decision suspend(const RecoveryAction& action);
  Decision fall_back(const RecoveryAction& action);
  Decision abort(const RecoveryAction& action);
  Decision escalate(const RecoveryAction& action);
  Decision end_with(Errc code, RunStatus status, std::string detail);
  [[nodiscard]] std::optional<std::string> too_late(Duration delay) const;
  [[nodiscard]] Decision wait_for(Duration delay) const;
  [[nodiscard]] std::optional<std::size_t> find_target(const RollbackTarget& target,
                                                       std::string* problem);
  void set_recovery(const RecoveryAction& action, std::string checkpoint);
  void record_action(const RecoveryAction& action,
                     std::optional<Sequence> compensates_after = std::nullopt);
  void record_rollback(std::optional<std::size_t> target, bool by_default);  // Under mutex_.

  // --- compensation.cpp
  // Records the action and undoes what happened after `target`, if it is wanted. Returns why
  // nothing is recorded and nothing undone: an effect in doubt.
  [[nodiscard]] std::optional<std::string> undo(const RecoveryAction& action, Sequence target,
                                                bool wanted, std::vector<std::string>* failures);
  [[nodiscard]] Input finish_undoing(Input first);

  const AgentCore& core_;
  Call call_;
  const RunOptions& options_;
  const Limits& limits_;
  Observer* observer_;
  std::stop_token stop_{};
  std::unique_ptr<LinkedStop> linked_stop_{};
  std::optional<TimePoint> began_{};  // When that costs nothing extra, or is asked for.
  std::optional<TimePoint> deadline_{};
  std::optional<TimePoint> attempt_began_{};  // Under a deadline.
  bool needs_set_up_ = false;
  bool guarded_ = false;  // There is a stop token, a deadline or a gate to look at.
  bool degraded_ = false;
  bool resumed_ = false;
  int attempt_ = 0;
  std::atomic<int> open_attempt_{0};  // Number of the attempt that may record; 0: none.
  mutable std::mutex mutex_{};
  std::unique_ptr<RunBody> body_{};
  std::list<Attempt> more_attempts_{};  // All but the first; they live as long as the run.
  std::optional<Attempt> first_attempt_{};
  std::once_flag id_made_{};
  RunId id_{};
  Outcome outcome_{};
  std::unique_ptr<RecoveryAction> suspension_{};
};

}  // namespace triage::inline v0_1::detail
