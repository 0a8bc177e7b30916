// SPDX-License-Identifier: MIT
// A hundred thousand random courses of the machine, compared with an oracle of its invariants.
#include "run/run_machine.hpp"

#include "support/catch.hpp"

#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace triage;
using namespace triage::detail;

namespace {

using Kind = RecoveryAction::Kind;
using Begins = RunMachine::Begins;

constexpr int courses = 100'000;
constexpr int most_outputs = 2'000;  // No course is longer, because of the limits.

// Draws the world's behaviour.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  bool chance(int percent) { return below(100) < percent; }
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Duration seconds(int most) { return std::chrono::seconds(below(most + 1)); }

 private:
  std::mt19937 random_;
};

RecoveryAction random_action(Dice& dice) {
  constexpr std::array kinds{Kind::retry,    Kind::retry,  Kind::replan,
                             Kind::rollback, Kind::resume, Kind::suspend,
                             Kind::fallback, Kind::abort,  Kind::escalate};
  RecoveryAction action{.kind = kinds[static_cast<std::size_t>(dice.below(kinds.size()))]};
  if (dice.chance(30)) action.delay = dice.seconds(20);
  if (dice.chance(3)) action.delay = Duration(-1);
  if (dice.chance(20)) action.message = "so they say";
  return action;
}

// One run: the machine, a world that answers at random, and the invariants for any answer.
class RandomCourse {
 public:
  explicit RandomCourse(unsigned seed) : dice_(seed) {
    begins_ = static_cast<Begins>(dice_.below(3));
    stored_ = begins_ != Begins::in_first_attempt && dice_.chance(60);
    const bool hooks = dice_.chance(60);
    rules_ = {.has_gates = begins_ != Begins::in_first_attempt && dice_.chance(40),
              .tells_failure = hooks && dice_.chance(60),
              .announces = dice_.chance(50),
              .asks_escalation = hooks && dice_.chance(60),
              .undoes_on_rollback = dice_.chance(50),
              .undoes_on_abort = dice_.chance(50),
              .undoes_on_escalate = dice_.chance(50)};
    limits_.max_attempts = 1 + dice_.below(6);
    limits_.max_attempts_per_type = 1 + dice_.below(5);
    limits_.max_tokens = dice_.chance(30) ? 1'000 : 0;
    limits_.max_cost_usd = dice_.chance(30) ? 1.0 : 0.0;
    limits_.max_elapsed = dice_.chance(30) ? dice_.seconds(200) : Duration(0);
    limits_.max_wait = dice_.chance(50) ? dice_.seconds(15) : Duration(0);
    if (dice_.chance(40)) deadline_ = dice_.seconds(200);
    s_.context = &context_;
    context_.text = dice_.chance(80) ? "it failed" : "";
  }

  void play() {
    RunMachine machine(rules_, limits_, stored_, begins_);
    machine.meet(s_);
    Input input = first_input();
    for (int n = 0;; ++n) {
      REQUIRE(n < most_outputs);
      const Next next = machine.next(input);
      outputs_.push_back(next.what);
      look_at(next, machine);
      if (next.what == Do::done) break;
      // Occasionally the input is not an answer: the run must end.
      input = dice_.chance(1) ? wrong_input(next.what) : answer(next);
      if (input == Input::stopped || input == Input::broken) over_ = true;
      broken_ = broken_ || input == Input::broken;
    }
    // A finished machine stays finished.
    CHECK(machine.next(static_cast<Input>(dice_.below(14))).what == Do::done);
    if (stored_ && !broken_) {
      REQUIRE(outputs_.size() >= 2);
      CHECK(outputs_[outputs_.size() - 2] == Do::drain);
    }
  }
  [[nodiscard]] const std::vector<Do>& outputs() const { return outputs_; }
  [[nodiscard]] const std::set<RunMachine::Phase>& phases() const { return phases_; }

 private:
  Input first_input() {
    if (begins_ == Begins::in_first_attempt) {
      attempts_ = 1;
      return dice_.chance(80) ? fail() : succeed();
    }
    if (begins_ == Begins::resumed && dice_.chance(50)) {
      s_.action = random_action(dice_);
      s_.action.delay = std::max(s_.action.delay, Duration(0));
      describe();
      decided_ = true;
      announced_ = true;
      return Input::decided;
    }
    return Input::start;
  }

  // --- The world's answers.

  Input succeed() {
    over_ = true;
    return Input::succeeded;
  }
  Input fail() {
    ++failures_;
    asked_policy_ = asked_escalation_ = told_ = announced_ = decided_ = false;
    classified_ = false;
    return Input::failed;
  }
  // No attempt could be made, and none can be made any more.
  Input fail_for_good() {
    s_.no_attempt = "no time";
    return fail();
  }
  Input stop_or(Input otherwise) {
    if (dice_.chance(2)) return Input::stopped;
    return otherwise;
  }
  // What the driver reports of a failure, or of the time of a decision.
  void describe() {
    s_.attempts = attempts_;
    s_.can_suspend = stored_ && dice_.chance(70);
    context_.elapsed = now_;
    context_.remaining.reset();
    if (deadline_) context_.remaining = *deadline_ - now_;
    if (limits_.max_elapsed != Duration(0)) {
      const Duration left = limits_.max_elapsed - now_;
      context_.remaining = context_.remaining ? std::min(*context_.remaining, left) : left;
    }
  }
  Input classify() {
    describe();
    context_.classification.type = dice_.chance(50) ? FailureType::timeout : FailureType::unknown;
    if (dice_.chance(30)) context_.usage.input_tokens += 400;
    if (dice_.chance(30)) context_.usage.cost_usd += 0.4;
    s_.in_doubt.reset();
    if (dice_.chance(5)) s_.in_doubt = "an effect is in doubt";
    s_.unsafe_steps = dice_.chance(10) ? "step 0 \"pay\"" : "";
    s_.asked = dice_.chance(5) ? &asked_ : nullptr;
    rerun_by_hook_ = false;
    classified_ = true;
    return Input::classified;
  }
  Input ask_escalation() {
    s_.instead.reset();
    if (dice_.chance(70)) s_.instead = random_action(dice_);
    rerun_by_hook_ = s_.instead && reruns(s_.instead->kind);
    return Input::answered;
  }
  Input undo() {
    s_.undoing = {};
    if (dice_.chance(20)) {
      s_.undoing.doubt = "who knows";
    } else if (dice_.chance(30)) {
      s_.undoing.failures = {"one is still there"};
    }
    return Input::done;
  }
  Input apply() {
    const bool can_refuse = s_.action.kind == Kind::retry || s_.action.kind == Kind::fallback;
    if (can_refuse && dice_.chance(30)) return refuse();
    context_.history.push_back({.type = context_.type(), .action = s_.action.kind});
    if (!reruns(s_.action.kind)) over_ = true;
    return Input::done;
  }
  Input refuse() {
    s_.problem = "it cannot be";
    announced_ = false;
    return Input::refused;
  }
  Input enter() {
    if (dice_.chance(30)) {
      s_.gate_wait = std::chrono::seconds(1) + dice_.seconds(20);
      s_.gate_time_left.reset();
      if (deadline_) s_.gate_time_left = *deadline_ - now_;
      return Input::held;
    }
    if (dice_.chance(10)) {
      s_.gate_closed = true;
      return fail();
    }
    return Input::entered;
  }
  Input invoke() {
    if (!rules_.has_gates && dice_.chance(2)) return fail_for_good();
    ++attempts_;
    now_ += dice_.seconds(10);
    return dice_.chance(15) ? succeed() : stop_or(fail());
  }
  Input answer(const Next& next) {
    switch (next.what) {
      case Do::finish_undoing: return stop_or(Input::done);
      case Do::check_start: return dice_.chance(2) ? fail_for_good() : stop_or(Input::done);
      case Do::enter_gates: return enter();
      case Do::refuse_entry: return fail();
      case Do::invoke: return invoke();
      case Do::drain: return dice_.chance(2) ? Input::broken : Input::drained;
      case Do::classify: return classify();
      case Do::ask_policy: s_.action = random_action(dice_); return Input::answered;
      case Do::ask_escalation: return ask_escalation();
      case Do::tell_failure:
      case Do::announce:
      case Do::learn_target: return Input::done;
      case Do::find_target: return dice_.chance(20) ? refuse() : Input::done;
      case Do::undo: return undo();
      case Do::apply: return apply();
      case Do::suspend_wait:
      case Do::end_run: over_ = true; return Input::done;
      case Do::wait: now_ += next.delay; return stop_or(Input::woke);
      case Do::done: break;
    }
    return Input::stopped;
  }
  // An input that never answers this output.
  Input wrong_input(Do what) {
    over_ = true;
    return what == Do::invoke || what == Do::wait ? Input::answered : Input::succeeded;
  }

  // --- Invariants.

  void look_at(const Next& next, const RunMachine& machine) {
    phases_.insert(machine.phase());
    const Do what = next.what;
    INFO("output " << static_cast<int>(what) << " of a course of " << outputs_.size());
    if (over_) CHECK((what == Do::drain || what == Do::done));
    if (what == Do::drain) CHECK(stored_);
    if (what == Do::tell_failure) {
      CHECK(rules_.tells_failure);
      CHECK_FALSE(std::exchange(told_, true));
    }
    if (what == Do::ask_policy) {
      CHECK_FALSE(std::exchange(asked_policy_, true));
      CHECK(told_ == rules_.tells_failure);
      CHECK_FALSE(spent());
      CHECK_FALSE(s_.in_doubt);
    }
    if (what == Do::ask_escalation) {
      CHECK(rules_.asks_escalation);
      if (!decided_) CHECK_FALSE(std::exchange(asked_escalation_, true));
      CHECK(s_.action.kind == Kind::escalate);
      announced_ = false;
    }
    if (what == Do::announce) {
      CHECK(rules_.announces);
      announced_ = true;
    }
    if (what == Do::invoke) look_at_attempt();
    if (what == Do::wait) look_at_wait(next.delay);
    if (what == Do::find_target || what == Do::undo || what == Do::apply || what == Do::end_run ||
        what == Do::suspend_wait) {
      look_at_action(what);
    }
  }
  void look_at_attempt() {
    // A decision from outside may add one attempt.
    CHECK(attempts_ < std::max(limits_.max_attempts, 1) + (begins_ == Begins::resumed ? 1 : 0));
    CHECK((!rules_.has_gates || entered()));
    if (failures_ > 0) CHECK((before() == Do::apply || before() == Do::wait || entered()));
  }
  void look_at_wait(Duration delay) {
    CHECK(delay > Duration(0));
    if (before() == Do::enter_gates) {
      if (deadline_) CHECK(now_ + delay < *deadline_);
      return;
    }
    CHECK(before() == Do::apply);
    if (context_.remaining) CHECK(delay < *context_.remaining);
    if (limits_.max_wait != Duration(0) && s_.can_suspend) CHECK(delay <= limits_.max_wait);
  }
  void look_at_action(Do what) {
    if (rules_.announces) CHECK(announced_);
    const Kind kind = s_.action.kind;
    if (what == Do::suspend_wait) {
      CHECK((s_.can_suspend && s_.action.delay > limits_.max_wait));
      if (context_.remaining) CHECK(s_.action.delay < *context_.remaining);
    }
    if (what == Do::undo) {
      CHECK((kind == Kind::rollback ? rules_.undoes_on_rollback
             : kind == Kind::abort
                 ? rules_.undoes_on_abort
                 : kind == Kind::escalate && rules_.undoes_on_escalate && !s_.in_doubt));
      CHECK(before() != Do::undo);
    }
    if (what == Do::apply && kind == Kind::rollback) {
      CHECK(before() == (rules_.undoes_on_rollback ? Do::undo
                         : stored_                 ? Do::learn_target
                                                   : Do::find_target));
      CHECK_FALSE((before() == Do::undo && s_.undoing.doubt));
    }
    if (what == Do::end_run) {
      const bool doubt = kind == Kind::escalate && s_.in_doubt;
      CHECK(s_.ending.code == (kind == Kind::abort ? Errc::aborted
                               : doubt             ? Errc::in_doubt
                                                   : Errc::escalated));
      CHECK_FALSE(s_.ending.detail.empty());
    }
    if ((what == Do::apply || what == Do::suspend_wait) && reruns(kind) && classified_) {
      CHECK_FALSE(spent());
      CHECK(s_.action.delay >= Duration(0));
      CHECK(s_.unsafe_steps.empty());
      if (s_.in_doubt) CHECK(rerun_by_hook_);
    }
  }
  // Whether the budgets leave no attempt; written independently of the machine.
  [[nodiscard]] bool spent() const {
    int of_type = 1;
    for (const HistoryEntry& one : context_.history) {
      if (one.type == context_.type()) ++of_type;
    }
    return s_.attempts >= limits_.max_attempts || of_type >= limits_.max_attempts_per_type ||
           (limits_.max_elapsed != Duration(0) && context_.elapsed >= limits_.max_elapsed) ||
           (deadline_ && context_.remaining <= Duration(0)) || s_.no_attempt != nullptr ||
           s_.gate_closed ||
           (limits_.max_tokens != 0 && context_.usage.input_tokens >= limits_.max_tokens) ||
           (limits_.max_cost_usd > 0.0 && context_.usage.cost_usd >= limits_.max_cost_usd);
  }
  // The output before the newest one.
  [[nodiscard]] Do before() const {
    return outputs_.size() < 2 ? Do::done : outputs_[outputs_.size() - 2];
  }
  [[nodiscard]] bool entered() const { return before() == Do::enter_gates; }

  Dice dice_;
  Begins begins_ = Begins::anew;
  bool stored_ = false;
  Rules rules_{};
  Limits limits_{};
  std::optional<Duration> deadline_{};
  FailureContext context_{};
  Situation s_{};
  const RecoveryAction asked_ = RecoveryAction::suspend("may I?");
  Duration now_{0};
  int attempts_ = 0;
  int failures_ = 0;
  bool asked_policy_ = false;
  bool asked_escalation_ = false;
  bool told_ = false;
  bool announced_ = false;
  bool decided_ = false;
  bool classified_ = false;
  bool rerun_by_hook_ = false;
  bool over_ = false;
  bool broken_ = false;
  std::vector<Do> outputs_{};
  std::set<RunMachine::Phase> phases_{};
};

}  // namespace

TEST_CASE("in any course a run ends, keeps its budgets and is told of as it should be",
          "[machine]") {
  std::set<Do> outputs;
  std::set<RunMachine::Phase> phases;
  for (unsigned seed = 1; seed <= courses; ++seed) {
    INFO("seed " << seed);
    RandomCourse course(seed);
    course.play();
    outputs.insert(course.outputs().begin(), course.outputs().end());
    phases.insert(course.phases().begin(), course.phases().end());
  }
  CHECK(outputs.size() == static_cast<std::size_t>(Do::done) + 1);
  // All but the phase in which nothing has happened yet.
  CHECK(phases.size() == static_cast<std::size_t>(RunMachine::Phase::finished));
}
