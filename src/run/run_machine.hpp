// SPDX-License-Identifier: MIT
#pragma once
// The course of one run as a state machine: next(input) says what its driver does next, and only
// computes. Whatever takes time, calls a user's code or touches a store is an output, and its
// result the next input. run_loop.cpp is the blocking driver; another one needs no change here.

#include "triage/limits.hpp"
#include "triage/policy.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// What happened outside the machine.
enum class Input : std::uint8_t {
  start,       // The run begins, or begins another attempt in another process.
  decided,     // It continues with Situation::action, decided while it was suspended.
  succeeded,   // The callable returned a value.
  failed,      // The callable failed, or no attempt could be made.
  stopped,     // The run ends without recovery: cancelled, or the library failed.
  drained,     // Everything recorded is in the store, or the run continues without it.
  broken,      // The store failed, and the run must not continue without it.
  woke,        // The wait is over.
  entered,     // The gates admitted the attempt.
  held,        // A gate asks to be retried after Situation::gate_wait.
  classified,  // The situation describes the failure.
  done,        // The request was carried out; Situation::undoing has an undo's result.
  answered,    // The answer is in Situation::action or Situation::instead.
  refused,     // The action cannot be carried out: Situation::problem.
};

// What the driver does, and the inputs that may follow. `stopped` and `broken` are always allowed
// and end the run.
enum class Do : std::uint8_t {
  finish_undoing,  // Completes what another process left half undone. → done
  check_start,   // Whether an attempt may begin; without gates `invoke` does this itself. → done,
                 // failed
  enter_gates,   // → entered, held, failed
  refuse_entry,  // The gate's wait is too long, so it counts as a refusal. → failed
  invoke,        // One attempt. → succeeded, failed
  drain,         // → drained
  classify,      // → classified
  tell_failure,  // on_failure. → done
  ask_policy,    // → answered, with Situation::action
  ask_escalation,  // on_escalate. → answered, with Situation::instead
  announce,        // The action: on_recovery, and the observer. → done
  find_target,     // Finds a rollback's target. → done, refused
  learn_target,    // Loads the target's state, which may only be in the store. → done, refused
  undo,            // Undoes effects as the action requires. → done, with Situation::undoing
  apply,           // Applies the action: prepares the next attempt, or a value. → done, refused
  suspend_wait,    // Suspends the run instead of a long wait. → done
  end_run,         // As described by Situation::ending. → done
  wait,            // For Next::delay. → woke
  done,            // Nothing: the run is over.
};

struct Next {
  Do what = Do::done;
  Duration delay{0};  // For wait.
};

// Constant for all failures of a run.
struct Rules {
  bool has_gates = false;
  bool tells_failure = false;    // There are hooks for failures …
  bool announces = false;        // … and for actions,
  bool asks_escalation = false;  // … and one to ask before an escalation.
  bool undoes_on_rollback = false;
  bool undoes_on_abort = false;
  bool undoes_on_escalate = false;
};

// How effects were undone.
struct Undoing {
  std::optional<std::string> doubt{};   // Nothing was undone: this effect is in doubt.
  std::vector<std::string> failures{};  // Effects still in place.
};

// How a run ends without a value.
struct Ending {
  Errc code = Errc::escalated;
  std::string detail{};
  std::string reason{};  // Error::reason().
};

// Exchanged by the machine and its driver about a failure: facts in, an action out.
// The end of a run's time, in texts; or it is that of limits.max_elapsed.
inline constexpr std::string_view the_deadline = "the deadline";
// Why no attempt can be made, static. end: as above.
[[nodiscard]] const char* no_time_left(std::string_view end) noexcept;

struct Situation {
  // --- Facts, set before `classified`; `can_suspend` and the time also before `decided`.
  const FailureContext* context = nullptr;
  int attempts = 0;                          // Those that count against the limits.
  bool can_suspend = false;                  // The run can outlive this process.
  const char* no_attempt = nullptr;          // Why no further attempt can be made; static.
  bool gate_closed = false;                  // A gate refused and named no time to retry.
  std::string_view time_end = the_deadline;  // What context->remaining leads to.
  std::optional<std::string> in_doubt{};     // An effect of the attempt: nothing may run again.
  const RecoveryAction* asked = nullptr;     // The action a guard wants instead of the policy's.
  std::string unsafe_steps{};                // Steps that must not be repeated; empty: none.
  // --- With `held`, and `refuse_entry`.
  Duration gate_wait{0};
  Duration gate_waited{0};  // Before this wait.
  std::optional<Duration> gate_time_left{};
  std::string gate_message{};
  // --- Results.
  std::optional<RecoveryAction> instead{};
  std::string problem{};
  std::optional<std::size_t>
      target{};  // Of a rollback: a position of the journal; null: its start.
  Undoing undoing{};
  // --- What follows from them.
  RecoveryAction action{};
  bool recorded = false;  // The journal contains the action.
  Ending ending{};
  bool by_guard = false;             // A guard asked for the action.
  std::string spent_limit{};         // The limit that on_escalate is asked instead of.
  bool escalation_asked = false;     // For this failure.
  bool undoing_refused = false;      // Effects to be undone are in doubt.
  std::vector<std::string> notes{};  // About the failure; taken by the driver.
};

class RunMachine {
 public:
  enum class Phase : std::uint8_t {
    ready,             // Nothing has happened yet.
    resuming,          // finish_undoing, then drain.
    settling_start,    // The resumption must be durable before the callable can crash.
    entering,          // At the gates …
    held,              // … and waiting there.
    attempting,        // The callable runs.
    settling_success,  // Draining before the value is returned.
    settling_failure,  // Draining before classification.
    classifying,
    telling,  // on_failure.
    asking,   // The policy.
    asking_escalation,
    announcing,
    targeting,  // find_target, learn_target.
    undoing,
    applying,
    waiting,  // Between two attempts.
    ending_run,
    ending,  // Draining before the end is reported.
    finished,
  };
  enum class Begins : std::uint8_t { anew, resumed, in_first_attempt };

  RunMachine(const Rules& rules, const Limits& limits, bool has_store,
             Begins begins = Begins::anew) noexcept
      : rules_(rules),
        limits_(limits),
        phase_(begins == Begins::in_first_attempt ? Phase::attempting : Phase::ready),
        has_store_(has_store),
        resumed_(begins == Begins::resumed) {}

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  // Sets the situation; call before the first input that needs one.
  void meet(Situation& situation) noexcept { at_ = &situation; }

  // An input that is unexpected in the current phase ends the run.
  [[nodiscard]] Next next(Input input) {
    if (phase_ == Phase::attempting) [[likely]] {
      if (input == Input::succeeded) return settle(Phase::settling_success);
      if (input == Input::failed) return settle(Phase::settling_failure);
      return stop(input);
    }
    if (phase_ == Phase::ready && input == Input::start && !resumed_) [[likely]]
      return begin_attempt();
    if (phase_ == Phase::settling_success) return finish();
    return next_step(input);
  }

 private:
  Next go(Phase phase, Do what) noexcept {
    phase_ = phase;
    return {.what = what};
  }
  Next finish() noexcept { return go(Phase::finished, Do::done); }
  Next begin_attempt() noexcept {
    return rules_.has_gates ? go(Phase::entering, Do::check_start)
                            : go(Phase::attempting, Do::invoke);
  }
  // What was recorded must be stored before anything relies on it.
  Next settle(Phase phase) noexcept {
    if (has_store_) return go(phase, Do::drain);
    if (phase == Phase::settling_failure) return go(Phase::classifying, Do::classify);
    return finish();
  }
  // A store that failed is not drained again.
  Next stop(Input input) noexcept {
    return input == Input::broken ? finish() : settle(Phase::ending);
  }

  // --- run_machine.cpp
  Next next_step(Input input);
  Next begin(Input input);
  Next enter(Input input);
  Next choose();
  Next within_limits();
  [[nodiscard]] std::optional<std::string> exhausted_limit() const;
  [[nodiscard]] std::optional<std::string> unsafe_to_repeat(RecoveryAction::Kind kind) const;
  Next before_escalation(bool by_limit);
  Next escalation_answered();
  Next announce();
  Next act();
  Next roll_back(Input input);
  Next undone();
  Next carried_out(Input input);
  Next give_up();
  Next end_run(Errc code, std::string detail, std::string reason = {});
  Next escalate_instead(std::string message);
  [[nodiscard]] std::optional<std::string> too_late(Duration delay) const;

  const Rules& rules_;
  const Limits& limits_;
  Situation* at_ = nullptr;
  Phase phase_;
  bool has_store_;
  bool resumed_;
  bool decided_ = false;   // The run continued with a decision.
  bool by_limit_ = false;  // on_escalate is asked because of a limit.
  bool chosen_ = false;    // The first action for this failure was announced.
  bool target_found_ = false;
};

// The detail of an error about a run that was given up, and, from such a detail, the reason; empty
// if it does not end with the failure.
[[nodiscard]] std::string with_failure(std::string reason, std::string_view failure);
[[nodiscard]] std::string reason_without(std::string_view detail, std::string_view failure);
// The negative delay that an action asks for, if any.
[[nodiscard]] std::optional<std::string> wrong_action(const RecoveryAction& action);
[[nodiscard]] bool reruns(RecoveryAction::Kind kind) noexcept;
// Why strict_idempotency forbids an action that repeats these steps.
[[nodiscard]] std::string forbidden_repetition(RecoveryAction::Kind kind, const std::string& steps);
// The default hint for the next attempt: how the contract was broken.
[[nodiscard]] std::string contract_hint(const FailureContext& context);

}  // namespace triage::inline v0_1::detail
