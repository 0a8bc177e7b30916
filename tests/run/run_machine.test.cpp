// SPDX-License-Identifier: MIT
#include "run/run_machine.hpp"

#include "support/catch.hpp"

#include <vector>

using namespace triage;
using namespace triage::detail;

namespace {

using Phase = RunMachine::Phase;
using Do = Next::Do;

struct FixedDecider final : Decider {
  Decision decide() override {
    ++asked;
    return decision;
  }
  Decision decided_outside() override {
    ++asked_outside;
    return decision;
  }
  Decision decision{};
  int asked = 0;
  int asked_outside = 0;
};

constexpr Input all_inputs[] = {Input::start,   Input::decided, Input::succeeded, Input::failed,
                                Input::stopped, Input::drained, Input::broken,    Input::woke};

// The shortest way to each phase; a decision to wait is the default.
std::vector<Input> way_to(Phase phase) {
  switch (phase) {
    case Phase::ready: return {};
    case Phase::attempting: return {Input::start};
    case Phase::settling_success: return {Input::start, Input::succeeded};
    case Phase::settling_failure: return {Input::start, Input::failed};
    case Phase::waiting: return {Input::start, Input::failed, Input::drained};
    case Phase::ending: return {Input::start, Input::stopped};
    case Phase::finished: return {Input::start, Input::broken};
  }
  return {};
}

struct Row {
  Phase from;
  Input input;
  Phase to;
  Do what;
};

// What is not listed ends the run: it drains, unless the store is what broke.
const Row rows[] = {
    {Phase::ready, Input::start, Phase::attempting, Do::invoke},
    {Phase::ready, Input::decided, Phase::waiting, Do::wait_until},
    {Phase::attempting, Input::succeeded, Phase::settling_success, Do::drain},
    {Phase::attempting, Input::failed, Phase::settling_failure, Do::drain},
    {Phase::settling_failure, Input::drained, Phase::waiting, Do::wait_until},
    {Phase::waiting, Input::woke, Phase::attempting, Do::invoke},
};

Row expected(Phase from, Input input) {
  for (const Row& row : rows) {
    if (row.from == from && row.input == input) return row;
  }
  const bool over = from == Phase::settling_success || from == Phase::ending ||
                    from == Phase::finished || input == Input::broken;
  return {from, input, over ? Phase::finished : Phase::ending, over ? Do::done : Do::drain};
}

}  // namespace

TEST_CASE("the course of a run: every phase with every input", "[machine]") {
  for (const Phase from :
       {Phase::ready, Phase::attempting, Phase::settling_success, Phase::settling_failure,
        Phase::waiting, Phase::ending, Phase::finished}) {
    for (const Input input : all_inputs) {
      INFO("phase " << static_cast<int>(from) << ", input " << static_cast<int>(input));
      FixedDecider decider;
      decider.decision = {.then = Decision::Then::wait, .until = TimePoint(Duration(7))};
      RunMachine machine(decider);
      for (const Input step : way_to(from)) static_cast<void>(machine.next(step));
      REQUIRE(machine.phase() == from);
      const Next next = machine.next(input);
      const Row row = expected(from, input);
      CHECK(machine.phase() == row.to);
      CHECK(next.what == row.what);
      if (next.what == Do::wait_until) CHECK(next.until == TimePoint(Duration(7)));
    }
  }
}

TEST_CASE("a decision leads to another attempt or to the end", "[machine]") {
  FixedDecider decider;
  decider.decision = {.then = Decision::Then::attempt, .until = {}};
  RunMachine machine(decider);
  static_cast<void>(machine.next(Input::start));
  static_cast<void>(machine.next(Input::failed));
  CHECK(decider.asked == 0);  // Not before the queue is drained.
  CHECK(machine.next(Input::drained).what == Do::invoke);
  CHECK(decider.asked == 1);
  decider.decision.then = Decision::Then::end;
  static_cast<void>(machine.next(Input::failed));
  CHECK(machine.next(Input::drained).what == Do::drain);
  CHECK(machine.phase() == Phase::ending);
  CHECK(machine.next(Input::drained).what == Do::done);
}

TEST_CASE("a decision from outside is followed without asking the policy", "[machine]") {
  FixedDecider decider;
  decider.decision = {.then = Decision::Then::attempt, .until = {}};
  RunMachine machine(decider);
  CHECK(machine.next(Input::decided).what == Do::invoke);
  CHECK(decider.asked == 0);
  CHECK(decider.asked_outside == 1);
}

TEST_CASE("a store that broke is not drained again", "[machine]") {
  FixedDecider decider;
  RunMachine machine(decider);
  static_cast<void>(machine.next(Input::start));
  static_cast<void>(machine.next(Input::failed));
  CHECK(machine.next(Input::broken).what == Do::done);
  CHECK(decider.asked == 0);
}

TEST_CASE("a driver that has made the first attempt itself begins behind it", "[machine]") {
  FixedDecider decider;
  decider.decision = {.then = Decision::Then::attempt, .until = {}};
  RunMachine machine(decider, Phase::attempting);
  CHECK(machine.next(Input::failed).what == Do::drain);
  CHECK(machine.next(Input::drained).what == Do::invoke);
  CHECK(decider.asked == 1);
}
