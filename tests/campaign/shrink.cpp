// SPDX-License-Identifier: MIT
#include "shrink.hpp"

#include "play.hpp"

#include <utility>

namespace triage::campaign {
namespace {

class Shrinker {
 public:
  explicit Shrinker(std::string kind) : kind_(std::move(kind)) {}
  Program shrink(Program program) const;

 private:
  bool differs(const Program& program) const { return kind_of(Play(program).run()) == kind_; }
  template <class List>
  bool shorten(Program& program, List Program::*part) const;
  template <class T>
  bool simplify(Program& program, T Program::*part, const T& plain) const;
  bool drop_items(Program& program) const;
  bool simplify_effects(Program& program) const;

  std::string kind_;
};

// Removes one element after another as long as the program still shows the difference.
template <class List>
bool Shrinker::shorten(Program& program, List Program::*part) const {
  bool shorter = false;
  for (std::size_t i = (program.*part).size(); i-- > 0;) {
    Program tried = program;
    (tried.*part).erase((tried.*part).begin() + static_cast<std::ptrdiff_t>(i));
    if (!differs(tried)) continue;
    program = std::move(tried);
    shorter = true;
  }
  return shorter;
}

bool Shrinker::drop_items(Program& program) const {
  bool shorter = false;
  for (std::size_t i = program.plan.size(); i-- > 0;) {
    Program tried = program;
    tried.plan.erase(tried.plan.begin() + static_cast<std::ptrdiff_t>(i));
    std::erase_if(tried.troubles,
                  [&](const Trouble& trouble) { return trouble.item == static_cast<int>(i); });
    for (Trouble& trouble : tried.troubles) {
      if (trouble.item > static_cast<int>(i)) --trouble.item;
    }
    if (!differs(tried)) continue;
    program = std::move(tried);
    shorter = true;
  }
  return shorter;
}

template <class T>
bool Shrinker::simplify(Program& program, T Program::*part, const T& plain) const {
  if (program.*part == plain) return false;
  Program tried = program;
  tried.*part = plain;
  if (!differs(tried)) return false;
  program = std::move(tried);
  return true;
}

bool Shrinker::simplify_effects(Program& program) const {
  bool simpler = false;
  for (std::size_t e = 0; e < program.effects.size(); ++e) {
    for (int what = 0; what < 3; ++what) {
      Program tried = program;
      EffectPlan& effect = tried.effects[e];
      const EffectPlan& old = program.effects[e];
      if (what == 0) effect.compensated = false;
      if (what == 1) effect.settled = false;
      if (what == 2) effect.semantics = EffectPlan::Semantics::at_most_once;
      const bool same = effect.compensated == old.compensated && effect.settled == old.settled &&
                        effect.semantics == old.semantics;
      if (same || !differs(tried)) continue;
      program = std::move(tried);
      simpler = true;
    }
  }
  return simpler;
}

Program Shrinker::shrink(Program program) const {
  bool smaller = true;
  for (int round = 0; smaller && round < 10; ++round) {
    smaller = shorten(program, &Program::actions);
    smaller |= shorten(program, &Program::troubles);
    smaller |= shorten(program, &Program::undo_troubles);
    smaller |= drop_items(program);
    smaller |= simplify_effects(program);
    smaller |= simplify(program, &Program::sqlite, false);
    smaller |= simplify(program, &Program::immediate, false);
    smaller |= simplify(program, &Program::fails_with_store, false);
    smaller |= simplify(program, &Program::auto_checkpoint, true);
    smaller |= simplify(program, &Program::per_run_limits, false);
    smaller |= simplify(program, &Program::deadline, 0);
    smaller |= simplify(program, &Program::max_attempts, 20);
    smaller |= simplify(program, &Program::max_per_type, 10);
  }
  return program;
}

}  // namespace

std::string kind_of(const std::string& difference) {
  std::string kind;
  bool skips = false;
  int lines = 1;
  for (const char c : difference) {
    if (c == '\n' && ++lines > 2) break;  // The observation and the first expectation.
    if (c == '{' || c == '(' || c == ',') skips = true;
    if (c == '\n') skips = false;
    if (!skips && c != '\n' && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

Program shrink(Program program) {
  const std::string difference = Play(program).run();
  return Shrinker(kind_of(difference)).shrink(std::move(program));
}

}  // namespace triage::campaign
