// SPDX-License-Identifier: MIT
// The machine alone, without threads, clock or store: every way that a run can take.
#include "run/run_machine.hpp"

#include "support/catch.hpp"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::detail;

namespace {

using Kind = RecoveryAction::Kind;
using Begins = RunMachine::Begins;

// A run that the test drives.
struct Course {
  Rules rules{};
  Limits limits{};
  bool stored = false;
  Begins begins = Begins::anew;
  FailureContext context{};
  Situation s{};

  Course() {
    s.context = &context;
    s.attempts = 1;
    context.text = "it failed";
  }
  // The outputs that follow these inputs.
  std::vector<Do> outputs(std::initializer_list<Input> inputs) {
    RunMachine machine(rules, limits, stored, begins);
    machine.meet(s);
    std::vector<Do> all;
    for (const Input input : inputs) {
      last = machine.next(input);
      all.push_back(last.what);
    }
    return all;
  }
  Next last{};
};

using Outputs = std::vector<Do>;

}  // namespace

TEST_CASE("a run without a store and gates is its attempt", "[machine]") {
  Course course;
  CHECK(course.outputs({Input::start, Input::succeeded}) == Outputs{Do::invoke, Do::done});
  course.begins = Begins::in_first_attempt;
  CHECK(course.outputs({Input::succeeded}) == Outputs{Do::done});
}

TEST_CASE(
    "what was recorded is stored before a value is returned and before a failure is looked at",
    "[machine]") {
  Course course;
  course.stored = true;
  CHECK(course.outputs({Input::start, Input::succeeded, Input::drained}) ==
        Outputs{Do::invoke, Do::drain, Do::done});
  CHECK(course.outputs({Input::start, Input::failed, Input::drained}) ==
        Outputs{Do::invoke, Do::drain, Do::classify});
}

TEST_CASE("a store that broke is not drained again", "[machine]") {
  Course course;
  course.stored = true;
  CHECK(course.outputs({Input::start, Input::failed, Input::broken}) ==
        Outputs{Do::invoke, Do::drain, Do::done});
  CHECK(course.outputs({Input::start, Input::stopped, Input::drained}) ==
        Outputs{Do::invoke, Do::drain, Do::done});
}

TEST_CASE("everybody who wants to be is asked or told, in order", "[machine]") {
  Course course;
  course.rules = {.tells_failure = true, .announces = true, .asks_escalation = true};
  SECTION("retry after a delay") {
    course.s.action = RecoveryAction::retry({}, std::chrono::seconds(7));
    CHECK(course.outputs({Input::start, Input::failed, Input::classified, Input::done,
                          Input::answered, Input::done, Input::done, Input::woke}) ==
          Outputs{Do::invoke, Do::classify, Do::tell_failure, Do::ask_policy, Do::announce,
                  Do::apply, Do::wait, Do::invoke});
  }
  SECTION("escalate") {
    course.s.action = RecoveryAction::escalate("no");
    CHECK(course.outputs({Input::start, Input::failed, Input::classified, Input::done,
                          Input::answered, Input::answered, Input::done, Input::done}) ==
          Outputs{Do::invoke, Do::classify, Do::tell_failure, Do::ask_policy, Do::ask_escalation,
                  Do::announce, Do::end_run, Do::done});
    CHECK(course.s.ending.code == Errc::escalated);
    CHECK(course.s.ending.detail == "no; the failure was: it failed");
  }
}

TEST_CASE("a rollback finds its target, learns its state, undoes effects and is applied",
          "[machine]") {
  Course course;
  course.stored = true;
  course.rules.undoes_on_rollback = true;
  course.s.action = RecoveryAction::rollback();
  const auto inputs = {Input::start,      Input::failed,   Input::drained,
                       Input::classified, Input::answered, Input::done,
                       Input::done,       Input::done,     Input::done};
  CHECK(course.outputs(inputs) == Outputs{Do::invoke, Do::drain, Do::classify, Do::ask_policy,
                                          Do::find_target, Do::learn_target, Do::undo, Do::apply,
                                          Do::invoke});
  SECTION("and escalates if an effect is in doubt") {
    course.s.undoing.doubt = "who knows";
    CHECK(course.outputs({Input::start, Input::failed, Input::drained, Input::classified,
                          Input::answered, Input::done, Input::done, Input::done}) ==
          Outputs{Do::invoke, Do::drain, Do::classify, Do::ask_policy, Do::find_target,
                  Do::learn_target, Do::undo, Do::end_run});
    CHECK_THAT(course.s.ending.detail, ContainsSubstring("nothing was undone: who knows"));
  }
}

TEST_CASE("a gate is asked again after its wait, or has refused if that is too long", "[machine]") {
  Course course;
  course.rules.has_gates = true;
  course.s.gate_wait = std::chrono::seconds(5);
  CHECK(course.outputs({Input::start, Input::done, Input::held, Input::woke, Input::entered,
                        Input::succeeded}) ==
        Outputs{Do::check_start, Do::enter_gates, Do::wait, Do::enter_gates, Do::invoke, Do::done});
  course.s.gate_time_left = std::chrono::seconds(5);
  CHECK(course.outputs({Input::start, Input::done, Input::held, Input::failed}) ==
        Outputs{Do::check_start, Do::enter_gates, Do::refuse_entry, Do::classify});
}

TEST_CASE("a resumed run first undoes what is half undone, and its resumption is stored",
          "[machine]") {
  Course course;
  course.stored = true;
  course.begins = Begins::resumed;
  CHECK(course.outputs({Input::start, Input::done, Input::drained}) ==
        Outputs{Do::finish_undoing, Do::drain, Do::invoke});
  course.s.action = RecoveryAction::abort("enough");
  CHECK(course.outputs({Input::decided, Input::done, Input::done, Input::drained}) ==
        Outputs{Do::finish_undoing, Do::end_run, Do::drain, Do::done});
  CHECK(course.s.ending.code == Errc::aborted);
  CHECK(course.s.ending.detail == "enough");
}

TEST_CASE("a long wait of a run that outlives its process suspends it", "[machine]") {
  Course course;
  course.s.can_suspend = true;
  course.s.action = RecoveryAction::retry({}, course.limits.max_wait + Duration(1));
  CHECK(course.outputs(
            {Input::start, Input::failed, Input::classified, Input::answered, Input::done}) ==
        Outputs{Do::invoke, Do::classify, Do::ask_policy, Do::suspend_wait, Do::done});
}
