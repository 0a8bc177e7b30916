// SPDX-License-Identifier: MIT
#pragma once
// The course of one run as a state machine without I/O: next(input) says what its driver does next.
// run_loop.cpp is the blocking driver; another one could await instead.

#include "triage/clock.hpp"

#include <cstdint>

namespace triage::inline v0_1::detail {

// What happened outside.
enum class Input : std::uint8_t {
  start,      // The run begins (or goes on after a crash).
  decided,    // The run goes on with an action that was decided on while it was suspended.
  succeeded,  // The callable returned a value.
  failed,     // The callable reported a failure or threw.
  stopped,    // The attempt ended in a way that no recovery applies to: cancelled, or the library
              // failed.
  drained,    // Everything recorded so far is in the store, or the run goes on without it.
  broken,     // The store failed, and the run must not go on without it.
  woke,       // The wait is over.
};

// What the driver does.
struct Next {
  enum class Do : std::uint8_t { invoke, wait_until, drain, done };
  Do what = Do::done;
  TimePoint until{};  // wait_until.
};

// What a failed attempt leads to. The decision itself is computed elsewhere, without I/O.
struct Decision {
  enum class Then : std::uint8_t { attempt, wait, end };
  Then then = Then::end;
  TimePoint until{};  // wait.
};

// Classifies the failure and asks the policy: called once for each failed attempt, after its drain.
class Decider {
 public:
  virtual Decision decide() = 0;
  virtual Decision decided_outside() = 0;

 protected:
  ~Decider() = default;
};

class RunMachine {
 public:
  enum class Phase : std::uint8_t {
    ready,             // → attempting
    attempting,        // → settling_success | settling_failure | ending
    settling_success,  // Draining before the value is returned. → finished
    settling_failure,  // Draining before classification. → attempting | waiting | ending
    waiting,           // Backing off. → attempting | ending
    ending,            // Draining before a terminal failure is returned. → finished
    finished,
  };

  // A driver that has already made the first attempt begins in `attempting`.
  explicit RunMachine(Decider& decider, Phase phase = Phase::ready) noexcept
      : decider_(decider), phase_(phase) {}

  [[nodiscard]] Phase phase() const noexcept { return phase_; }

  // An input that the phase does not expect ends the run.
  [[nodiscard]] Next next(Input input) {
    switch (phase_) {
      case Phase::ready:
        if (input == Input::start) return attempt();
        if (input == Input::decided) return follow(decider_.decided_outside());
        return end(input);
      case Phase::attempting:
        if (input == Input::succeeded) return drain(Phase::settling_success);
        if (input == Input::failed) return drain(Phase::settling_failure);
        return end(input);
      case Phase::settling_success: return finish();
      case Phase::settling_failure:
        if (input == Input::drained) return follow(decider_.decide());
        return end(input);
      case Phase::waiting:
        if (input == Input::woke) return attempt();
        return end(input);
      case Phase::ending:
      case Phase::finished: return finish();
    }
    return finish();
  }

 private:
  Next attempt() noexcept {
    phase_ = Phase::attempting;
    return {.what = Next::Do::invoke, .until = {}};
  }
  Next drain(Phase phase) noexcept {
    phase_ = phase;
    return {.what = Next::Do::drain, .until = {}};
  }
  Next follow(const Decision& decision) noexcept {
    if (decision.then == Decision::Then::attempt) return attempt();
    if (decision.then == Decision::Then::end) return drain(Phase::ending);
    phase_ = Phase::waiting;
    return {.what = Next::Do::wait_until, .until = decision.until};
  }
  // A store that broke is not drained again.
  Next end(Input input) noexcept {
    return input == Input::broken ? finish() : drain(Phase::ending);
  }
  Next finish() noexcept {
    phase_ = Phase::finished;
    return {.what = Next::Do::done, .until = {}};
  }

  Decider& decider_;
  Phase phase_;
};

}  // namespace triage::inline v0_1::detail
