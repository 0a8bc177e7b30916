// SPDX-License-Identifier: MIT
#pragma once
// A single run. Lives on the caller's stack, where it takes a few words; its data is allocated when
// something is first recorded, reported or stored.

#include "base/made_once.hpp"
#include "run/agent_core.hpp"
#include "run/run_data.hpp"
#include "run/run_machine.hpp"
#include "run/terms.hpp"
#include "run/wait_machine.hpp"
#include "triage/attempt.hpp"
#include "triage/journal.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
struct Compaction;
struct CompactionRule;
}  // namespace triage::inline v0_1

namespace triage::inline v0_1::detail {

// Reasons why propose_step refuses a step.
inline constexpr std::string_view denied_by_guard = "denied_by_guard";
inline constexpr std::string_view needs_approval = "needs_approval";
// The reason of an attempt that ended with an effect in doubt.
inline constexpr std::string_view effect_in_doubt = "effect_in_doubt";

// The steps not marked idempotent, for messages; empty if there are none.
[[nodiscard]] std::string unsafe_steps(const Trajectory& trajectory, std::size_t restored_steps);
// Why strict_idempotency forbids an action; empty if it does not.
[[nodiscard]] std::optional<std::string> unsafe_to_rerun(const AgentCore& core,
                                                         const Trajectory& trajectory,
                                                         std::size_t restored_steps,
                                                         RecoveryAction::Kind action);
// The status stored for a run that ends with this error.
[[nodiscard]] RunStatus end_status(Errc code) noexcept;

// Distinguishes two runs with the same id and otherwise equal first records: to a store, an
// identical start is a retry whose reply was lost.
[[nodiscard]] std::uint64_t start_nonce();

// The recorded result of a finished run, put into the call's frame.
Outcome recorded_result(const AgentCore& core, Call call, const RunOptions& options,
                        bool* degraded);

// Several threads of a callable may record at once; mutex_ guards what they touch. When the
// callable has returned, the driver waits for the calls in progress. From then until the next
// attempt only the driver uses the run, since other callers are late: they only count themselves.
// Then only data shared with a store's thread is locked.
class Run {
 public:
  Run(const AgentCore& core, Call call, const RunOptions& options) noexcept
      : core_(core), call_(call), options_(options) {}
  ~Run() {
    if (attempts_ != nullptr) [[unlikely]]
      close_attempts();
    if (data_) [[unlikely]]
      leave_store();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // --- Course of the run (run_loop.cpp, run.cpp).
  // Preparation before the first attempt; most runs need none. An Error ends the run; *recorded
  // means that the run had already finished and the frame holds its recorded result.
  [[nodiscard]] bool needs_set_up() const noexcept {
    return options_.store || core_.options.store || options_.limits || !options_.run_id.empty() ||
           !options_.label.empty() || limits().max_elapsed != Duration::zero();
  }
  Result<void> set_up(bool* recorded);
  // The first attempt of a plain agent's run without options. True if the call was all it took and
  // the run is over. Otherwise pass *result to execute().
  [[nodiscard]] [[gnu::always_inline]] inline bool just_called(Input* result);
  void take_data(std::unique_ptr<RunData> data, int attempts);  // For a run that is resumed.
  Outcome execute(RunMachine::Begins begins, Input first);      // Until the run ends.
  [[nodiscard]] bool degraded() const noexcept { return degraded_; }

  // --- Recording, for Attempt (run_recording.cpp). All of these lock.
  // `movable`: the same step, if it may be moved from.
  void record_step(int attempt, const Step& step, Step* movable);
  void record_step(int attempt, const Step& step, const StepValues& values);
  void update_state(int attempt, Json patch);
  void remove_state(int attempt, std::string_view key);
  void replace_state(int attempt, Json state);
  void record_usage(int attempt, const Usage& usage);
  Result<void> store_now(int attempt);
  Result<Compaction> compact_now(int attempt, const CompactionRule& rule);
  Result<void> forget_checkpoints(int attempt, std::span<const CheckpointInfo> labelled);
  void set_contract(int attempt, AgentContract contract);
  Result<CheckpointId> checkpoint(int attempt, std::string_view label, bool awaited = true);
  Result<Json> effect(int attempt, const EffectRequest& request);
  Error report(int attempt, Failure&& failure);
  void report_error(int attempt, Error&& error);
  void stick(int attempt, Error error);  // Ends the run when the callable returns.
  void carry_thread(bool begins);        // The calling thread is one of a TaskGroup.
  [[nodiscard]] bool is_carried() const;
  [[nodiscard]] std::optional<Error> sticky(int attempt) const;
  [[nodiscard]] State state(int attempt) const;
  [[nodiscard]] Trajectory trajectory(int attempt) const;
  [[nodiscard]] const Recovery* recovery(int attempt) const;
  void child_failed(int attempt, std::shared_ptr<const FailureContext> failure);
  // Continues a nested run that the parent has waited for (nested.cpp); empty: none fits this call.
  static std::optional<Outcome> continue_child(const AgentCore& core, Call call,
                                               const RunOptions& options, bool* degraded);
  // A call in this attempt has continued a nested run, and returns its end; null: it has finished.
  static void hand_over(const Attempt& attempt, const RunId& child, const Error* error);
  // For Attempt (run_gates.cpp, propose.cpp, signals.cpp).
  Result<Permit> enter_call(int attempt, std::string_view tool, std::string_view endpoint,
                            bool retry);
  Result<Reservation> reserve(int attempt, const Usage& estimate);
  Result<void> propose_step(int attempt, const Step& step);
  // For Attempt and nested runs; timed: also triggered at the end of the run's time.
  [[nodiscard]] std::stop_token attempt_stop_token() const;
  [[nodiscard]] std::stop_token timed_stop_token();
  [[nodiscard]] std::optional<TimePoint> attempt_deadline() const;
  Result<void> sleep_until(int attempt, WallTime when);
  Result<void> sleep_for(int attempt, std::string_view name, Duration length);
  // The error of an attempt with no time left for what it requests.
  [[nodiscard]] Error too_late_for(int attempt, std::string text);
  Result<std::optional<Json>> wait_for_signal(int attempt, std::string_view name,
                                              WallTime deadline);
  Result<std::optional<Json>> signal_received(int attempt, std::string_view name);
  void note_stopped(int attempt);  // It fails as reported, whatever the callable returns.
  Result<void> keep_lease(int attempt);
  [[nodiscard]] bool can_suspend(int attempt);

  [[nodiscard]] const RunId& id();
  [[nodiscard]] int attempt_number() const noexcept { return attempt_; }
  [[nodiscard]] const std::stop_token& stop_token() const noexcept {
    return options_.parent == nullptr ? options_.stop_token : nested_stop_token();
  }
  [[nodiscard]] std::optional<TimePoint> deadline() const noexcept {
    return options_.parent == nullptr ? options_.deadline : nested_deadline();
  }

 private:
  friend class Effects;
  using Lock = std::unique_lock<std::mutex>;

  // --- run.cpp
  RunData& made_data() {
    RunData* made = data_.get();
    return made != nullptr ? *made : make_data();
  }
  RunData& make_data();
  [[nodiscard]] TimePoint now() const { return core_.clock->now(); }
  [[nodiscard]] Terms terms() const;
  [[nodiscard]] const Limits& limits() const noexcept {
    return options_.limits ? *options_.limits : core_.options.limits;
  }
  [[nodiscard]] Observer* observer() const noexcept { return core_.options.observer.get(); }
  [[nodiscard]] const std::stop_token& nested_stop_token() const noexcept;  // With a parent.
  [[nodiscard]] std::optional<TimePoint> nested_deadline() const noexcept;
  // Ignores the time limits of outer attempts, which do not matter once the run is suspended.
  [[nodiscard]] std::optional<TimePoint> lasting_deadline() const noexcept;
  void link_stop_tokens();
  void note_activity() const {
    if (options_.on_activity || options_.parent != nullptr) [[unlikely]]
      tell_activity();
  }
  void tell_activity() const;  // To whoever began this run, or one around it.
  void leave_store();
  [[nodiscard]] bool has_store() const noexcept { return data_ && data_->store; }
  void emit(EventKind kind, Event&& event = {}) {
    if (observer() != nullptr) [[unlikely]]
      deliver(kind, event);
  }
  void deliver(EventKind kind, Event& event);
  void collect_notes();         // Takes notes from all threads; for the driver.
  void note(std::string text);  // Reported with the current failure.
  Result<Record> run_started();
  // Between attempts, and only with a store: records a fact and the resulting status. Locks.
  void record_fact(RecordKind kind, Json fields, RunStatus status = RunStatus::running);
  // The same for a caller that holds mutex_. Records made under one lock are stored together.
  void add_fact(RecordKind kind, Json fields, RunStatus status = RunStatus::running);
  void enqueue(Record record);  // The caller holds mutex_.
  void snapshot_if_due();       // Likewise.
  [[nodiscard]] std::size_t newest_step() const {
    return data_->journal.trajectory().size() - 1;  // Likewise.
  }
  void make_room();  // Likewise; before a record is made.
  Result<void> open_in_store();
  Result<void> start_in_store();

  // --- run_store.cpp: writing what was recorded.
  Result<void> write();             // Shared by the drains below …
  Result<void> flush();             // … and reports what the store will never take.
  Result<void> flush_noticing();    // The same, with its events.
  Result<void> drain_or_degrade();  // Follows OnStoreError: an error ends the run.
  Input drain();                    // The same, for the machine.
  void name_failure(Error& error);  // The attempt's, beside the error that ends the run.
  // The store's thread failed, or a call that tells nobody.
  void notice_failure(const Error& failure);
  void tell_detached(const Error& failure);
  // For what must be stored. `at`: the record, if other threads record, too.
  Result<void> drain_strictly(Sequence at = 0);
  Result<void> store_end();  // Retries storing the run's end.
  void record_result(bool degraded);
  void end_in_store(RunStatus status, Json fields, bool uncounted = false);
  void give_up_refused(Error why);
  void note_fenced();
  [[nodiscard]] std::optional<Error> refused_record() const;
  [[nodiscard]] bool fails_with_store() const noexcept;
  // Sleeps on the injected clock and keeps the lease meanwhile. False: a stop was requested.
  [[nodiscard]] bool rest_until(TimePoint until, bool even_if_stopped = false);
  Result<void> keep_lease();

  // The caller holds mutex_. Counts late calls.
  [[nodiscard]] bool is_late(int attempt);
  [[nodiscard]] bool takes_nothing(int attempt);  // Likewise: late, or the run must fail.
  // The data, if it exists and the attempt may look at it. The caller holds mutex_.
  [[nodiscard]] const RunData* seen_by(int attempt) const noexcept;
  // True if there is an error, which then sticks. The caller holds mutex_.
  bool refused(Result<void>& checked);
  // Unlocks, then writes as the write mode asks.
  void write_through(int attempt, Lock lock);

  // --- run_loop.cpp
  Attempt& open_attempt();
  void close_attempts() noexcept;  // The driver alone uses the run afterwards.
  void announce_start();
  Input invoke();
  void prepare_attempt();
  [[gnu::always_inline]] inline Input run_callable(Attempt& attempt);
  Input settle(Input result, bool out_of_time = false);
  [[nodiscard]] TimePoint after(Duration delay) const;
  Input wait(Duration delay);
  Input check_start();
  [[nodiscard]] std::optional<Input> refuse_to_start();
  Input refuse_attempt(Failure failure, const char* why);  // Classified like any failure.
  Input too_late_to_start(std::string text);
  [[nodiscard]] Duration expected_duration() const noexcept;
  std::optional<TimePoint> learn_duration() noexcept;  // Returns when the attempt ended.
  [[nodiscard]] bool tries_anyway(Duration left) const noexcept;
  Input cancel(std::string detail, bool stopped_attempt = false);
  Outcome end();
  void tell_unstored(const Error& why);
  [[nodiscard]] std::uint64_t late_calls() const;

  // --- attempt_time.cpp
  void begin_attempt_time();
  [[nodiscard]] bool end_attempt_time();  // True if its time was over.
  [[nodiscard]] const AttemptTime* attempt_time() const noexcept;
  [[nodiscard]] bool attempt_is_over() const;
  [[nodiscard]] std::optional<TimePoint> run_time_ends() const;
  [[nodiscard]] std::optional<TimePoint> time_ends() const;
  [[nodiscard]] std::string_view name_of_end() const;  // Of time_ends(), for texts.
  void end_run_time();
  [[nodiscard]] Error out_of_time(int attempt);
  void blame_attempt_time();

  // --- recursion.cpp, what_if.cpp
  [[nodiscard]] std::optional<Failure> find_recursion() const;  // For a run with a parent.
  [[nodiscard]] bool refuses_effects() const;                   // It, or a run above it.

  // --- run_contract.cpp
  // Null if there is none.
  [[nodiscard]] const std::shared_ptr<const AgentContract>& contract() const noexcept;
  // How a step breaks the contract. Unlocks while checking.
  [[nodiscard]] std::vector<StepBreach> judge_unlocked(const Step& step, Lock& lock);
  void keep(const std::vector<StepBreach>& broken);  // Of the newest step. The caller locks.
  void tell_of_step(int attempt, const Step& step, std::size_t index,
                    const std::vector<StepBreach>& broken);
  // What the attempt's steps broke; null if the contract says nothing about steps.
  [[nodiscard]] const std::vector<StepBreach>* breaches() const noexcept;
  // Whether the value that the callable returned must be checked.
  [[nodiscard]] bool judges_return() const noexcept;
  // The input that replaces `succeeded` if the value breaks the contract.
  [[nodiscard]] Input judge_return();

  // --- signals.cpp
  Result<void> pause(int attempt, const Pause& what, std::optional<Json>* signal = nullptr);
  Result<WaitFacts> measure_wait(int attempt, const Pause& what);
  Error ask_to_suspend(int attempt, const Pause& what);
  Result<void> rest_in_attempt(int attempt, Duration delay);
  [[nodiscard]] bool may_look_again(const Error& failed) const noexcept;
  [[nodiscard]] bool may_suspend() const;  // The caller holds mutex_.
  // True if the run has already waited for this, even if it asked for another time.
  [[nodiscard]] bool is_served(const std::string& place, WallTime when);
  [[nodiscard]] std::string place_of_sleep(int attempt);
  Result<std::optional<std::optional<Json>>> known_signal(std::string_view name);
  Result<std::optional<Json>> record_signal(int attempt, std::string_view name,
                                            std::optional<Json> value);

  // --- suspension.cpp
  Outcome suspended_outcome(const std::shared_ptr<const FailureContext>& context);
  void suspend_in_memory(const std::string& hash, const RecoveryAction& action,
                         std::optional<WallTime> expires);
  [[nodiscard]] Json suspension_fields(const RecoveryAction& action);
  Input suspend_attempt();  // Its wait, or a nested run's, outlasts the process.
  void suspend_with(const RecoveryAction& action, Json fields);
  // When the run ends or waits: removes its keys that are no longer needed.
  void tidy_keys(bool ended);

  // --- nested.cpp
  void child_suspended(int attempt, WaitingChild child);
  void note_child(const std::shared_ptr<const Suspension>& waiting);  // The caller holds mutex_.
  [[nodiscard]] bool child_waits() const noexcept;
  void put_children(Json& fields);
  [[nodiscard]] RecoveryAction ask_for_children();
  void tell_parent(const std::shared_ptr<const Suspension>& waiting);  // That this run waits.
  [[nodiscard]] std::optional<std::pair<RunId, AwaitedRun>> take_awaited(const AgentCore& core,
                                                                         const std::string& task,
                                                                         const RunId& wanted);
  [[nodiscard]] Suspension shown_suspension(const RecoveryAction& action);

  // --- run_gates.cpp
  GateAnswer pass_gates(GateRequest request, Permit& permit);
  [[nodiscard]] static Failure refusal(const GateAnswer& answer, const char* what);
  Input enter_gates();
  Input refuse_entry(const GateAnswer& answer);
  Input refuse_held();
  Input wait_at_gate(Duration delay);
  void leave_attempt(bool succeeded, std::optional<TimePoint> ended = {});
  void give_back_permit() noexcept {
    if (permit_ != nullptr) *permit_ = Permit();
  }
  Error report_exhausted(int attempt, Error error);

  // --- capture.cpp
  void capture(const std::exception& exception);
  void capture_unknown();

  // --- decide.cpp
  Input classify_failure();
  void classify();
  [[nodiscard]] Classification ask_classifier();
  void complete_context();
  void measure_time();  // Elapsed and remaining time, for the current failure.
  void describe_situation(Situation& s);
  [[nodiscard]] Situation& decided_situation();
  Input tell_failure();
  Input ask_policy();
  Input ask_escalation();
  Input announce();
  [[nodiscard]] std::string task_text() const;
  void call_hook(std::string_view name, const std::function<void()>& hook);

  // --- act.cpp
  void take_notes();
  Input recover(Do what);
  Input refuse_action(std::string problem);
  Input apply();
  Input start_again(const Situation& s);
  Input roll_back(const Situation& s);
  Input resume(const Situation& s);
  Input suspend(const Situation& s);
  Input fall_back(const Situation& s);
  Input end_run();
  Input find_target();
  Input learn_target();
  [[nodiscard]] Sequence target_sequence() const;
  [[nodiscard]] std::optional<std::size_t> failed_step() const;
  // Instead of a sleep longer than Limits::max_wait, if the store is durable (waits.cpp).
  Input suspend_wait();
  [[nodiscard]] bool outlives_process() const noexcept;
  void set_recovery(const RecoveryAction& action, std::string checkpoint);
  void record_once();
  // state: what the next attempt begins with; null: what the action says.
  void record_action(const RecoveryAction& action,
                     std::optional<Sequence> compensates_after = std::nullopt,
                     const Json* state = nullptr);
  // Needed before going back to that position: its state may only be in the store.
  [[nodiscard]] Result<void> learn_state_at(Sequence to);
  void record_rollback(std::optional<std::size_t> target, bool by_default);

  // --- compensation.cpp
  // Records the action and undoes what happened after its target; neither if one is in doubt.
  Input undo();
  Input finish_undoing();

  // Each member costs even the shortest run its initialisation and destruction.
  const AgentCore& core_;
  Call call_;
  const RunOptions& options_;
  int attempt_ = 0;
  std::atomic<int> open_attempt_{0};  // The attempt that may record; 0: none.
  bool degraded_ = false;
  bool resumed_ = false;
  bool observer_threw_ = false;  // Before there was data to note it in.
  Permit* permit_ = nullptr;     // Of the current attempt, if there are gates; owned by execute().
  std::optional<TimePoint> began_{};          // Set if it costs nothing extra, or on demand.
  std::optional<TimePoint> attempt_began_{};  // Under a deadline.
  MadeOnce<RunId> id_{};
  MadeOnce<RunData> data_{};
  mutable std::mutex mutex_{};
  Attempt* attempts_ = nullptr;  // Newest first; closed when the run ends.
};

}  // namespace triage::inline v0_1::detail
