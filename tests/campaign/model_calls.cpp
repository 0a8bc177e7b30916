// SPDX-License-Identifier: MIT
// What an operator's call may lead to.
#include "model.hpp"

#include <algorithm>

namespace triage::campaign {

void RunModel::begin(Hypothesis h, int now, List& out) const {
  h.facts.add({.kind = Fact::Kind::started});
  start(std::move(h), now, out);
}

void RunModel::return_recorded(Hypothesis h, List& out) const {
  h.value = h.facts.result;
  return_with(std::move(h), success, out);
}

void RunModel::run(int now) {
  each("run", [&](const Hypothesis& h, List& out) {
    switch (h.facts.status) {
      case Status::absent: begin(h, now, out); return;
      case Status::finished: return_recorded(h, out); return;
      default:
        return_with(
            h,
            bit(Errc::conflict) | bit(Errc::aborted) | bit(Errc::escalated) | bit(Errc::suspended),
            out);
    }
  });
}

void RunModel::run_or_resume(int now) {
  if (std::all_of(hypotheses_.begin(), hypotheses_.end(), [](const Hypothesis& h) {
        return h.facts.status == Status::absent || h.facts.status == Status::finished;
      })) {
    run(now);
    return;
  }
  each("run_or_resume", [&](const Hypothesis& h, List& out) {
    switch (h.facts.status) {
      case Status::absent: begin(h, now, out); return;
      case Status::finished: return_recorded(h, out); return;
      case Status::suspended:
        return_with(h, bit(Errc::suspended), out);
        if (is_due(h, now)) take_up_one(h, now, out);  // Its waiting time is over.
        return;
      case Status::aborted: return_with(h, bit(Errc::aborted) | bit(Errc::conflict), out); return;
      case Status::escalated:
        return_with(h, bit(Errc::escalated) | bit(Errc::conflict) | bit(Errc::in_doubt), out);
        // Asking about a doubt again is harmless.
        if (h.facts.by_doubt) go_on(h, -1, now, out);
        return;
      default: go_on(h, -1, now, out);
    }
  });
}

void RunModel::resume_run(int label, bool revive, int now) {
  each("resume_run", [&](const Hypothesis& h, List& out) {
    switch (h.facts.status) {
      case Status::absent: return_with(h, bit(Errc::not_found), out); return;
      case Status::finished: {
        Hypothesis known = h;
        known.value = h.facts.result;
        return_with(std::move(known), success | bit(Errc::conflict) | bit(Errc::not_found), out);
        if (label >= 0) go_on(h, label, now, out);  // The caller may mean the named checkpoint.
        return;
      }
      case Status::aborted:
      case Status::escalated: {
        return_with(h,
                    bit(Errc::aborted) | bit(Errc::escalated) | bit(Errc::conflict) |
                        bit(Errc::in_doubt) | bit(Errc::not_found),
                    out);
        if (revive || h.facts.status == Status::escalated) go_on(h, label, now, out);
        return;
      }
      default: go_on(h, label, now, out);
    }
  });
}

// docs/recovery.md and docs/checkpoint_format.md, section 4: from the newest position, or from
// before the undone effects.
void RunModel::go_on(const Hypothesis& h, int label, int now, List& out) const {
  const Facts& facts = h.facts;
  Hypothesis next = h;
  next.facts.add({.kind = Fact::Kind::going_on});
  if (facts.is_undoing && label < 0) {
    go_on_undoing(std::move(next), now, out);
    return;
  }
  if (label >= 0) {
    // A pending undo is completed first.
    if (facts.is_undoing) go_on_undoing(next, now, out);
    const int position = facts.find_label(label);
    if (position < 0) {
      return_with(h, bit(Errc::not_found), out);
      return;
    }
    const Position& chosen = facts.positions[static_cast<std::size_t>(position)];
    if (facts.is_undoing) {
      if (will_be_tainted(facts, chosen)) {
        return_with(h, bit(Errc::conflict) | bit(Errc::invalid_argument), out);
        return;
      }
      if (!facts.is_tainted(chosen)) {
        next.chosen = position;
        go_on_undoing(std::move(next), now, out);
        return;
      }
    }
    for (int i = 0; i <= position && facts.is_tainted(chosen); ++i) {
      if (facts.is_tainted(facts.positions[static_cast<std::size_t>(i)])) continue;
      Hypothesis earlier = next;
      earlier.facts.add({.kind = Fact::Kind::rewound, .a = i});
      start(std::move(earlier), now, out);
    }
    if (facts.is_tainted(chosen)) {
      return_with(h, bit(Errc::conflict) | bit(Errc::invalid_argument), out);
      Hypothesis over = next;
      over.facts.add({.kind = Fact::Kind::rewound, .a = -1});
      start(std::move(over), now, out);
    }
    next.facts.add({.kind = Fact::Kind::rewound, .a = position});
    start(std::move(next), now, out);
    return;
  }
  const int before = facts.before_undone();
  if (before != -2) next.facts.add({.kind = Fact::Kind::rewound, .a = before});
  // A run that waits for its backoff and is resumed by hand may also begin the pending attempt.
  if (facts.status == Status::suspended && facts.waiting.cause == Waiting::Cause::backoff) {
    Hypothesis over = next;
    over.facts.add({.kind = Fact::Kind::start_over});
    start(std::move(over), now, out);
  }
  start(std::move(next), now, out);
}

bool RunModel::will_be_tainted(const Facts& facts, const Position& position) const {
  for (int e = 0; e < effect_count; ++e) {
    const Effect& effect = facts.effects[static_cast<std::size_t>(e)];
    const bool in_place = effect.status != Effect::Status::free && !effect.inherited;
    if (in_place && plan(e).compensated && effect.first_intended > facts.at_of(facts.undo_target) &&
        effect.first_intended < position.at) {
      return true;
    }
  }
  return false;
}

void RunModel::decide(bool current, int choice, int now) {
  each("decide", [&](const Hypothesis& h, List& out) {
    constexpr Codes refused = bit(Errc::not_found) | bit(Errc::conflict);
    if (!current || h.facts.status != Status::suspended) {
      return_with(h, refused, out);
      return;
    }
    Hypothesis next = h;
    next.facts.add({.kind = Fact::Kind::going_on});
    if (h.facts.attempts >= program_->max_attempts) {
      begin_undo(next, -1, static_cast<int>(Status::escalated), false, out);
    }
    static constexpr std::array kinds{Rule::Kind::retry, Rule::Kind::resume, Rule::Kind::rollback,
                                      Rule::Kind::abort, Rule::Kind::fallback};
    Rule rule;
    rule.kind = kinds[static_cast<std::size_t>(choice)];
    rule.or_start = true;
    act(std::move(next), rule, 0, now, out);
  });
}

bool RunModel::is_due(const Hypothesis& h, int now) const {
  if (h.facts.status != Status::suspended) return false;
  const Waiting& waiting = h.facts.waiting;
  const bool answered = waiting.cause == Waiting::Cause::signal &&
                        sent_[static_cast<std::size_t>(waiting.signal)] >= 0;
  return answered || (waiting.until > 0 && waiting.until <= now + 1);
}

bool RunModel::is_due(int now, bool surely) const {
  const auto due = [&](const Hypothesis& h) { return is_due(h, now); };
  return surely ? std::all_of(hypotheses_.begin(), hypotheses_.end(), due)
                : std::any_of(hypotheses_.begin(), hypotheses_.end(), due);
}

void RunModel::take_up(int now, bool several) {
  several_due_ = several;
  each("resume_due", [&](const Hypothesis& h, List& out) { take_up_one(h, now, out); });
  several_due_ = false;
}

void RunModel::take_up_one(const Hypothesis& h, int now, List& out) const {
  if (h.facts.status != Status::suspended) return;
  Hypothesis next = h;
  next.facts.add({.kind = Fact::Kind::going_on});
  if (h.facts.waiting.cause == Waiting::Cause::backoff) {
    next.facts.add({.kind = Fact::Kind::start_over});
  }
  start(std::move(next), now, out);
}

// A run that has used up its attempts may be refused; how a dead process counts is not specified.
void RunModel::start(Hypothesis h, int now, List& out) const {
  const bool late = program_->deadline > 0 && now >= program_->deadline;
  // Runs that are resumed before it may take until after the deadline.
  const bool perhaps_late = program_->deadline > 0 && several_due_;
  if (late || perhaps_late || h.facts.attempts >= program_->max_attempts) {
    begin_undo(h, -1, static_cast<int>(Status::escalated), false, out);
  }
  if (!late) attempt_next(std::move(h), out);
}

void RunModel::erase() {
  hypotheses_.assign(1, Hypothesis{.facts = Facts(program_->auto_checkpoint)});
  sent_ = {-1, -1};
}

bool RunModel::may_fork(int position) const {
  return std::all_of(hypotheses_.begin(), hypotheses_.end(), [&](const Hypothesis& h) {
    const std::vector<Position> known = h.facts.with_open();
    const std::size_t place = static_cast<std::size_t>(position + h.not_listed);
    if (place >= known.size()) return false;
    // Not specified: what a branch inherits of a compensation in doubt, and how it begins after an
    // undone effect.
    return !h.facts.is_tainted(known[place]) &&
           std::none_of(h.facts.effects.begin(), h.facts.effects.end(), [](const Effect& effect) {
             return effect.status == Effect::Status::undo_doubt;
           });
  });
}

RunModel RunModel::fork(int position, int now, int edit, std::string name) const {
  RunModel branch(*program_, *findings_, std::move(name));
  branch.hypotheses_.clear();
  branch.shaken_ = shaken_;
  for (const Hypothesis& h : hypotheses_) {
    const Position origin = h.facts.with_open()[static_cast<std::size_t>(position + h.not_listed)];
    Hypothesis begun{.facts = Facts(program_->auto_checkpoint)};
    Fact forked{.kind = Fact::Kind::forked, .v = origin.state, .steps = origin.steps};
    if (edit > 0) forked.v[Key::edit] = edit;
    begun.facts.add(forked);
    for (int e = 0; e < effect_count; ++e) {
      const Effect& effect = h.facts.effects[static_cast<std::size_t>(e)];
      if (effect.status == Effect::Status::free) continue;
      begun.facts.add({.kind = Fact::Kind::inherited,
                       .a = e,
                       .b = effect.status == Effect::Status::done ? 1 : 0,
                       .c = effect.result,
                       .steps = {.count = effect.generation}});
    }
    start(std::move(begun), now, branch.hypotheses_);
  }
  return branch;
}

bool RunModel::exists() const {
  return std::any_of(hypotheses_.begin(), hypotheses_.end(),
                     [](const Hypothesis& h) { return h.facts.status != Status::absent; });
}

int RunModel::suspension() const {
  const Facts& facts = hypotheses_.back().facts;
  return facts.status == Status::suspended ? facts.suspension : 0;
}

bool RunModel::is_waiting_for_call() const {
  return std::any_of(hypotheses_.begin(), hypotheses_.end(), [](const Hypothesis& h) {
    return h.phase == Hypothesis::Phase::to_attempt || h.phase == Hypothesis::Phase::to_return;
  });
}

bool RunModel::wants_decision() const {
  return std::all_of(hypotheses_.begin(), hypotheses_.end(), [](const Hypothesis& h) {
    return h.facts.status != Status::suspended || h.facts.waiting.cause == Waiting::Cause::policy;
  });
}

bool RunModel::is_detached() const {
  return std::any_of(hypotheses_.begin(), hypotheses_.end(),
                     [](const Hypothesis& h) { return h.stored != nullptr; });
}

}  // namespace triage::campaign
