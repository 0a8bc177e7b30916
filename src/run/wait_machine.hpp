// SPDX-License-Identifier: MIT
#pragma once
// A wait inside an attempt, until a time or for a signal, as a state machine that only computes;
// see run_machine.hpp. The blocking driver is in signals.cpp.

#include "triage/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace triage::inline v0_1::detail {

enum class WaitInput : std::uint8_t {
  start,
  measured,  // WaitFacts were updated.
  seen,      // The signal was sent.
  unseen,
  drained,
  woke,
};

enum class WaitDo : std::uint8_t {
  measure,  // How much time is left. → measured
  look,     // For the signal. → seen, unseen
  drain,    // The process may be killed while it waits. → drained
  rest,     // For WaitNext::delay. → woke
  refuse,   // The wait would exceed the run's time: the attempt fails.
  suspend,  // The run continues later, possibly in another process.
  done,     // The time has come, or the signal was sent.
};

struct WaitNext {
  WaitDo what = WaitDo::done;
  Duration delay{0};
};

struct WaitFacts {
  Duration left{0};                         // Until the end of the wait; negative: it is over.
  std::optional<Duration> deadline_left{};  // Until the run's deadline, if it has one.
  std::optional<Duration> time_left{};      // Until limits.max_elapsed is over, likewise.
  bool can_suspend = false;                 // Another process can repeat the attempt.
};

class WaitMachine {
 public:
  // Checks for a signal every `poll`. A wait longer than `longest` suspends the run if possible.
  WaitMachine(bool for_signal, Duration longest, Duration poll) noexcept
      : for_signal_(for_signal), longest_(longest), poll_(poll) {}

  // The order matters: time is measured before the signal is looked for, so a signal sent in time
  // is always seen.
  [[nodiscard]] WaitNext next(WaitInput input, const WaitFacts& facts) const noexcept {
    switch (input) {
      case WaitInput::start:
      case WaitInput::woke: return {.what = WaitDo::measure};
      case WaitInput::measured:
        if (for_signal_) return {.what = WaitDo::look};
        return keep_waiting(facts);
      case WaitInput::seen: return {.what = WaitDo::done};
      case WaitInput::unseen: return keep_waiting(facts);
      case WaitInput::drained: {
        const Duration bout = for_signal_ ? std::min(facts.left, poll_) : facts.left;
        return {.what = WaitDo::rest, .delay = bout};
      }
    }
    return {.what = WaitDo::done};
  }

 private:
  [[nodiscard]] WaitNext keep_waiting(const WaitFacts& facts) const noexcept {
    if (facts.left <= Duration::zero()) return {.what = WaitDo::done};
    if (facts.deadline_left && facts.left >= *facts.deadline_left) {
      return {.what = WaitDo::refuse};
    }
    if (facts.left > longest_ && facts.can_suspend) return {.what = WaitDo::suspend};
    // Only waiting in a process counts as elapsed.
    if (facts.time_left && facts.left >= *facts.time_left) {
      return {.what = facts.can_suspend ? WaitDo::suspend : WaitDo::refuse};
    }
    return {.what = WaitDo::drain};
  }

  bool for_signal_;
  Duration longest_;
  Duration poll_;
};

}  // namespace triage::inline v0_1::detail
