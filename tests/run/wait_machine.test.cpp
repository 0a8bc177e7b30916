// SPDX-License-Identifier: MIT
// A wait inside an attempt, computed without a clock, a store or a thread.
#include "run/wait_machine.hpp"

#include "support/catch.hpp"

#include <random>
#include <vector>

using namespace triage;
using namespace triage::detail;
using namespace std::chrono_literals;

namespace {

using WaitOutputs = std::vector<WaitDo>;

// Time passes by the rest's duration, sometimes by more.
struct Wait {
  bool for_signal = false;
  Duration longest = 1h;
  WaitFacts facts{};
  Duration signal_in = Duration::max();  // When it is sent.
  Duration slack{0};                     // Additional time of each rest.
  Duration rested{0};

  WaitOutputs outputs() {
    const WaitMachine machine(for_signal, longest, 50ms);
    WaitOutputs all;
    WaitInput input = WaitInput::start;
    for (;;) {
      const WaitNext next = machine.next(input, facts);
      all.push_back(next.what);
      REQUIRE(all.size() < 100'000);
      switch (next.what) {
        case WaitDo::measure: input = WaitInput::measured; break;
        case WaitDo::look: input = rested >= signal_in ? WaitInput::seen : WaitInput::unseen; break;
        case WaitDo::drain: input = WaitInput::drained; break;
        case WaitDo::rest:
          CHECK(next.delay > Duration::zero());
          rested += next.delay + slack;
          facts.left -= next.delay + slack;
          if (facts.deadline_left) *facts.deadline_left -= next.delay + slack;
          input = WaitInput::woke;
          break;
        default: return all;
      }
    }
  }
};

}  // namespace

TEST_CASE("a sleep is stored, rested and measured again", "[machine]") {
  Wait wait{.facts = {.left = 10min}};
  CHECK(wait.outputs() ==
        WaitOutputs{WaitDo::measure, WaitDo::drain, WaitDo::rest, WaitDo::measure, WaitDo::done});
  CHECK(wait.rested == 10min);
}

TEST_CASE("a wait that is over, too late or too long begins no rest", "[machine]") {
  CHECK(Wait{.facts = {.left = Duration(0)}}.outputs() ==
        WaitOutputs{WaitDo::measure, WaitDo::done});
  CHECK(Wait{.facts = {.left = 10min, .deadline_left = 10min}}.outputs() ==
        WaitOutputs{WaitDo::measure, WaitDo::refuse});
  CHECK(Wait{.facts = {.left = 2h, .can_suspend = true}}.outputs() ==
        WaitOutputs{WaitDo::measure, WaitDo::suspend});
  CHECK(Wait{.for_signal = true, .facts = {.left = 2h, .can_suspend = true}}.outputs() ==
        WaitOutputs{WaitDo::measure, WaitDo::look, WaitDo::suspend});
}

TEST_CASE("a signal is looked for until it comes, and once more when the time is over",
          "[machine]") {
  Wait wait{.for_signal = true, .facts = {.left = 1s}, .signal_in = 120ms};
  CHECK(wait.outputs().back() == WaitDo::done);
  CHECK(wait.rested == 150ms);
  Wait in_vain{.for_signal = true, .facts = {.left = 100ms}};
  CHECK(in_vain.outputs() == WaitOutputs{WaitDo::measure, WaitDo::look, WaitDo::drain, WaitDo::rest,
                                         WaitDo::measure, WaitDo::look, WaitDo::drain, WaitDo::rest,
                                         WaitDo::measure, WaitDo::look, WaitDo::done});
}

TEST_CASE("any wait ends, and never later than its time or the deadline allows", "[machine]") {
  std::mt19937 random(1);
  const auto below = [&](unsigned n) -> Duration {
    return std::chrono::milliseconds(random() % n);
  };
  for (int i = 0; i < 100'000; ++i) {
    Wait wait{.for_signal = random() % 2 == 0,
              .longest = below(3'000),
              .facts = {.left = below(2'000), .can_suspend = random() % 2 == 0},
              .signal_in = below(3'000),
              .slack = random() % 4 == 0 ? below(20) : Duration(0)};
    if (random() % 2 == 0) wait.facts.deadline_left = below(3'000);
    const WaitFacts before = wait.facts;
    const Duration longest = wait.longest;
    const WaitDo last = wait.outputs().back();
    CHECK(wait.rested <= before.left + wait.slack);
    if (last == WaitDo::suspend) CHECK((before.can_suspend && wait.facts.left > longest));
    if (last == WaitDo::refuse) CHECK(wait.facts.left >= *wait.facts.deadline_left);
    if (last == WaitDo::done && wait.facts.left > Duration::zero()) {
      CHECK((wait.for_signal && wait.rested >= wait.signal_in));
    }
  }
}
