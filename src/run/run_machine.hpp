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
#include <vector>

namespace triage::inline v0_1::detail {

// What happened outside.
enum class Input : std::uint8_t {
  start,      // The run begins, or begins another attempt in another process.
  decided,    // It goes on with Situation::action, which was decided on while it stood still.
  succeeded,  // The callable returned a value.
  failed,     // The callable failed, or no attempt could be made.
  stopped,  // The run ends in a way that no recovery applies to: cancelled, or the library failed.
  drained,  // Everything recorded so far is in the store, or the run goes on without it.
  broken,   // The store failed, and the run must not go on without it.
  woke,     // The wait is over.
  entered,  // The gates let the attempt pass.
  held,     // A gate wants to be asked again after Situation::gate_wait.
  classified,  // The situation says what is known of the failure.
  done,        // What was asked for has been done; Situation::undoing tells how an undo went.
  answered,    // Who was asked has answered: Situation::action, or Situation::instead.
  refused,     // The action cannot be carried out: Situation::problem.
};

// What the driver does, and which inputs it may answer with. `stopped` and `broken` always end the
// run.
enum class Do : std::uint8_t {
  finish_undoing,  // What another process left half undone. → done
  check_start,   // Whether an attempt may begin; `invoke` does so itself where there are no gates.
                 // → done, failed
  enter_gates,   // → entered, held, failed
  refuse_entry,  // The gate's wait is too long: it is a refusal. → failed
  invoke,        // One attempt. → succeeded, failed
  drain,         // → drained
  classify,      // → classified
  tell_failure,  // on_failure. → done
  ask_policy,    // → answered, with Situation::action
  ask_escalation,  // on_escalate. → answered, with Situation::instead
  announce,        // The action: on_recovery, and the observer. → done
  find_target,     // Of a rollback. → done, refused
  learn_target,    // The state there, which only the store may know. → done, refused
  undo,            // Effects, as far as the action wants it. → done, with Situation::undoing
  apply,           // The action: what the next attempt begins with, or a value. → done, refused
  suspend_wait,    // Instead of a long wait: suspends the run until then. → done
  end_run,         // As Situation::ending says. → done
  wait,            // For Next::delay. → woke
  done,            // Nothing more: the run is over.
};

struct Next {
  Do what = Do::done;
  Duration delay{0};  // wait.
};

// What holds for all failures of a run.
struct Rules {
  bool has_gates = false;
  bool tells_failure = false;    // Somebody wants to know of failures …
  bool announces = false;        // … and of actions,
  bool asks_escalation = false;  // … and to be asked before an escalation.
  bool undoes_on_rollback = false;
  bool undoes_on_abort = false;
  bool undoes_on_escalate = false;
};

// How effects were undone.
struct Undoing {
  std::optional<std::string> doubt{};   // Nothing was: one of them may or may not have happened.
  std::vector<std::string> failures{};  // Those that are still in place.
};

// How a run ends without a value.
struct Ending {
  Errc code = Errc::escalated;
  std::string detail{};
};

// What the machine and its driver tell each other about a failure: facts in, an action out.
struct Situation {
  // --- Facts, set before `classified`, and `can_suspend` and the time before `decided`.
  const FailureContext* context = nullptr;
  int attempts = 0;  // That count against the limits.
  bool has_deadline = false;
  bool can_suspend = false;               // The run would outlive this process.
  const char* no_attempt = nullptr;       // Why none can be made any more; static.
  bool gate_closed = false;               // A gate refused, and named no time to ask again.
  std::optional<std::string> in_doubt{};  // An effect of the attempt: nothing may run again.
  const RecoveryAction* asked = nullptr;  // What a guard wants instead of the policy's answer.
  std::string unsafe_steps{};             // Those that must not be repeated; empty: none.
  // --- With `held`, and `refuse_entry`.
  Duration gate_wait{0};
  Duration gate_waited{0};  // Before.
  std::optional<Duration> gate_time_left{};
  std::string gate_message{};
  // --- Results.
  std::optional<RecoveryAction> instead{};
  std::string problem{};
  std::optional<std::size_t>
      target{};  // Of a rollback: a position of the journal; null: its start.
  Undoing undoing{};
  // --- What follows.
  RecoveryAction action{};
  bool recorded = false;  // The journal has the action.
  Ending ending{};
  bool by_guard = false;             // The action is what a guard asked for.
  std::string spent_limit{};         // In whose place on_escalate was asked.
  bool escalation_asked = false;     // on_escalate has been asked about this failure.
  bool undoing_refused = false;      // Effects are in doubt that were to be undone.
  std::vector<std::string> notes{};  // For the failure; the driver takes them.
};

class RunMachine {
 public:
  enum class Phase : std::uint8_t {
    ready,             // Nothing has happened yet.
    resuming,          // finish_undoing, then drain.
    settling_start,    // That the run was resumed is durable before its callable can kill it.
    entering,          // In front of the gates …
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
    ending,  // Draining before the end is told.
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
  // From now on; before the first input that needs it.
  void meet(Situation& situation) noexcept { at_ = &situation; }

  // An input that the phase does not expect ends the run.
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
  // What was recorded is stored before anybody builds on it.
  Next settle(Phase phase) noexcept {
    if (has_store_) return go(phase, Do::drain);
    if (phase == Phase::settling_failure) return go(Phase::classifying, Do::classify);
    return finish();
  }
  // A store that broke is not drained again.
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
  Next act_late(std::string problem);
  Next roll_back(Input input);
  Next undone();
  Next carried_out(Input input);
  Next give_up();
  Next end_run(Errc code, std::string detail);
  Next escalate_instead(std::string message);
  [[nodiscard]] std::optional<std::string> too_late(Duration delay) const;

  const Rules& rules_;
  const Limits& limits_;
  Situation* at_ = nullptr;
  Phase phase_;
  bool has_store_;
  bool resumed_;
  bool decided_ = false;   // The run went on with a decision.
  bool by_limit_ = false;  // on_escalate is asked in the place of a limit.
  bool chosen_ = false;    // The first action about this failure has been announced.
  bool target_found_ = false;
};

// What an action asks for, if it is to be after a time below zero.
[[nodiscard]] std::optional<std::string> wrong_delay(const RecoveryAction& action);
[[nodiscard]] bool reruns(RecoveryAction::Kind kind) noexcept;
// Why strict_idempotency forbids an action that runs these steps again.
[[nodiscard]] std::string forbidden_repetition(RecoveryAction::Kind kind, const std::string& steps);
// What the next attempt is told if the strategy has nothing to say: how the contract was broken.
[[nodiscard]] std::string contract_hint(const FailureContext& context);

}  // namespace triage::inline v0_1::detail
