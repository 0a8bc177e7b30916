// SPDX-License-Identifier: MIT
#include "program.hpp"

#include "triage/clock.hpp"

#include <algorithm>

namespace triage::campaign {
namespace {

class Dice {
 public:
  // Neighbouring seeds of SplitMix64 give shifted sequences, so the seed itself is drawn.
  explicit Dice(std::uint64_t seed) : random_(seeded_random(seeded_random(seed)->next())) {}
  int below(int bound) {
    return static_cast<int>(random_->next() % static_cast<std::uint64_t>(bound));
  }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::shared_ptr<Random> random_;
};

Rule make_rule(Dice& dice, bool in_sequence) {
  using Kind = Rule::Kind;
  static constexpr std::array likely{Kind::retry,    Kind::retry,   Kind::rollback, Kind::rollback,
                                     Kind::rollback, Kind::resume,  Kind::replan,   Kind::escalate,
                                     Kind::suspend,  Kind::suspend, Kind::abort,    Kind::fallback,
                                     Kind::sequence, Kind::sequence};
  Rule rule;
  rule.kind = likely[static_cast<std::size_t>(
      dice.below(static_cast<int>(likely.size()) - (in_sequence ? 2 : 0)))];
  rule.most = in_sequence ? 9 : dice.between(1, 4);
  if (rule.kind == Kind::retry && dice.one_in(3)) rule.delay = dice.one_in(2) ? 3 : 40;
  rule.target = static_cast<Rule::Target>(dice.below(4));
  if (dice.one_in(2)) rule.target = Rule::Target::last_good;
  rule.n = rule.target == Rule::Target::back ? dice.between(1, 2) : dice.below(label_count);
  rule.or_start = dice.one_in(2);
  if (rule.kind == Kind::suspend && dice.one_in(2)) rule.until = dice.between(1, 9) * 60;
  if (rule.kind == Kind::sequence) {
    for (int i = dice.between(1, 4); i > 0; --i) rule.members.push_back(make_rule(dice, true));
  }
  return rule;
}

std::vector<Item> make_plan(Dice& dice) {
  using Kind = Item::Kind;
  static constexpr std::array likely{Kind::step,   Kind::step,   Kind::step,  Kind::change,
                                     Kind::change, Kind::forget, Kind::label, Kind::effect,
                                     Kind::effect, Kind::effect, Kind::nap,   Kind::wait};
  std::vector<Item> plan;
  int effects = 0;
  for (int i = dice.between(1, 7); i > 0; --i) {
    Item item;
    item.kind = likely[static_cast<std::size_t>(dice.below(static_cast<int>(likely.size())))];
    item.n = dice.below(2);
    if (item.kind == Kind::effect) {
      // Mostly a new effect, sometimes one that was requested before.
      item.n = effects > 0 && dice.one_in(5) ? dice.below(effects) : effects;
      if (item.n >= effect_count) item.n = effect_count - 1;
      effects = std::max(effects, item.n + 1);
    }
    if (item.kind == Kind::nap || item.kind == Kind::wait) item.seconds = dice.between(1, 9) * 30;
    item.kept = !dice.one_in(4);
    plan.push_back(item);
  }
  return plan;
}

Trouble make_trouble(Dice& dice, const std::vector<Item>& plan, bool store_fails) {
  using Kind = Trouble::Kind;
  static constexpr std::array anywhere{
      Kind::fail, Kind::fail, Kind::fail,   Kind::throws,  Kind::fail_late, Kind::fail_late,
      Kind::die,  Kind::die,  Kind::cancel, Kind::contend, Kind::slow,      Kind::take_over};
  static constexpr std::array at_effect{Kind::not_done,   Kind::throw_before, Kind::throw_after,
                                        Kind::die_before, Kind::die_after,    Kind::die_after};
  static constexpr std::array at_store{Kind::store_before, Kind::store_before, Kind::store_after,
                                       Kind::store_after, Kind::store_breaks};
  const auto pick = [&dice](const auto& kinds) {
    return kinds[static_cast<std::size_t>(dice.below(static_cast<int>(kinds.size())))];
  };
  Trouble trouble;
  trouble.item = dice.below(static_cast<int>(plan.size()) + 1);
  trouble.visit = dice.one_in(3) ? 2 : 1;
  trouble.kind = pick(anywhere);
  if (trouble.item < static_cast<int>(plan.size()) &&
      plan[static_cast<std::size_t>(trouble.item)].kind == Item::Kind::effect && dice.one_in(2)) {
    trouble.kind = pick(at_effect);
  }
  if (store_fails && dice.one_in(2)) trouble.kind = pick(at_store);
  trouble.n = dice.below(type_count);
  if (trouble.kind == Kind::slow) trouble.n = dice.between(1, 4) * 25;
  if (is_store_trouble(trouble.kind)) trouble.n = dice.between(1, 6);
  return trouble;
}

Action make_action(Dice& dice, int runs) {
  using Kind = Action::Kind;
  static constexpr std::array likely{Kind::run,           Kind::run_or_resume, Kind::run_or_resume,
                                     Kind::run_or_resume, Kind::resume_run,    Kind::resume_run,
                                     Kind::decide,        Kind::decide,        Kind::decide,
                                     Kind::resume_due,    Kind::resume_due,    Kind::resume_due,
                                     Kind::signal,        Kind::fork,          Kind::fork,
                                     Kind::erase,         Kind::kill,          Kind::mend_store};
  Action action;
  action.kind = likely[static_cast<std::size_t>(dice.below(static_cast<int>(likely.size())))];
  action.run = dice.below(runs);
  action.process = dice.one_in(3) ? 1 : 0;
  action.n = dice.below(12);
  action.seconds = dice.between(0, 10) * 40;
  action.revive = dice.one_in(3);
  action.old_token = dice.one_in(4);
  return action;
}

}  // namespace

bool is_store_trouble(Trouble::Kind kind) noexcept { return kind >= Trouble::Kind::store_before; }

Program make_program(std::uint64_t seed, bool sqlite) {
  Dice dice(seed);
  Program program;
  program.seed = seed;
  program.sqlite = sqlite;
  program.immediate = dice.one_in(3);
  program.fails_with_store = dice.one_in(3);
  program.auto_checkpoint = !dice.one_in(6);
  if (dice.one_in(3)) program.max_attempts = dice.between(1, 5);
  if (dice.one_in(4)) program.max_per_type = dice.between(1, 3);
  program.per_run_limits = dice.one_in(2);
  if (dice.one_in(6)) program.deadline = dice.between(1, 5) * 100 + 7;
  for (Rule& rule : program.rules) rule = make_rule(dice, false);
  for (EffectPlan& effect : program.effects) {
    effect.semantics = static_cast<EffectPlan::Semantics>(dice.one_in(2) ? 0 : dice.below(3));
    effect.reconcile = static_cast<EffectPlan::Reconcile>(dice.one_in(2) ? 1 : dice.below(3));
    effect.compensated = dice.one_in(2);
    effect.settled = dice.one_in(2);
  }
  program.plan = make_plan(dice);
  const bool store_fails = dice.one_in(4);
  for (int i = dice.between(0, 6); i > 0; --i) {
    program.troubles.push_back(make_trouble(dice, program.plan, store_fails));
  }
  if (dice.one_in(4)) {
    program.undo_troubles.push_back(
        {static_cast<UndoTrouble::Kind>(dice.below(5)), dice.between(1, 3)});
  }
  program.actions.push_back(
      {.kind = dice.one_in(2) ? Action::Kind::run : Action::Kind::run_or_resume});
  int runs = 1;
  for (int i = dice.between(0, 7); i > 0; --i) {
    program.actions.push_back(make_action(dice, runs));
    if (program.actions.back().kind == Action::Kind::fork) ++runs;
  }
  return program;
}

}  // namespace triage::campaign
