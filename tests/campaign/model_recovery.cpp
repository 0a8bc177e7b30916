// SPDX-License-Identifier: MIT
// From a failure to its possible consequences: limits, policy, targets, undoing.
#include "model.hpp"

#include <algorithm>
#include <utility>

namespace triage::campaign {

void RunModel::return_with(Hypothesis h, Codes codes, List& out) const {
  h.phase = Hypothesis::Phase::to_return;
  h.codes = codes;
  out.push_back(std::move(h));
}

void RunModel::end_with(Hypothesis h, Status status, Codes codes, int value, bool doubt,
                        List& out) const {
  if (h.chosen != Hypothesis::no_choice) {  // It has gone back, whatever comes next.
    h.facts.add({.kind = Fact::Kind::rewound, .a = std::exchange(h.chosen, Hypothesis::no_choice)});
  }
  // What a dead process had begun to undo is still to be undone when the doubt is settled.
  const bool owes = doubt && h.resumed_at >= 0;
  h.resumed_at = -1;
  h.facts.add({.kind = Fact::Kind::ended,
               .a = static_cast<int>(status),
               .b = value,
               .c = owes ? 2 : static_cast<int>(doubt)});
  h.value = value;
  return_with(std::move(h), codes, out);
}

void RunModel::attempt_next(Hypothesis h, List& out) const {
  h.phase = Hypothesis::Phase::to_attempt;
  out.push_back(std::move(h));
}

void RunModel::put_aside(Hypothesis h, const Waiting& waiting, List& out) const {
  h.facts.add({.kind = Fact::Kind::waiting, .waiting = waiting});
  return_with(std::move(h), bit(Errc::suspended), out);
}

// docs/policies.md: the policy's decision about this failure, without the limits.
Rule RunModel::decided(const Hypothesis& h, int type) const {
  const auto place = static_cast<std::size_t>(type);
  const int occurrence = h.facts.failures[place];
  Rule rule = program_->rules[place];
  if (rule.kind == Rule::Kind::sequence) {
    if (occurrence > static_cast<int>(rule.members.size())) return {};
    return Rule(rule.members[static_cast<std::size_t>(occurrence - 1)]);
  }
  if (rule.kind == Rule::Kind::retry && occurrence >= rule.most) return {};
  if (rule.kind == Rule::Kind::replan && h.facts.replans[place] >= rule.most) return {};
  return rule;
}

void RunModel::act(Hypothesis h, const Rule& rule, int type, int now, List& out) const {
  const bool runs_again = rule.kind <= Rule::Kind::resume;
  const int delay = rule.kind == Rule::Kind::retry ? rule.delay : 0;
  if (runs_again && program_->deadline > 0 && now + delay >= program_->deadline) {
    begin_undo(std::move(h), -1, static_cast<int>(Status::escalated), false, out);
    return;
  }
  switch (rule.kind) {
    case Rule::Kind::retry:
    case Rule::Kind::replan:
      if (delay > program_->max_wait) {
        put_aside(std::move(h), {.cause = Waiting::Cause::backoff, .until = now + delay}, out);
        return;
      }
      h.facts.add(
          {.kind = Fact::Kind::start_over, .a = rule.kind == Rule::Kind::replan ? 1 + type : 0});
      attempt_next(std::move(h), out);
      return;
    case Rule::Kind::rollback: roll_back(h, rule, out); return;
    case Rule::Kind::resume: attempt_next(std::move(h), out); return;
    case Rule::Kind::suspend:
      put_aside(std::move(h), {.cause = Waiting::Cause::policy, .until = rule.until}, out);
      return;
    case Rule::Kind::abort:
      begin_undo(std::move(h), -1, static_cast<int>(Status::aborted), false, out);
      return;
    case Rule::Kind::fallback:
      end_with(std::move(h), Status::finished, success, fallback_value, false, out);
      return;
    case Rule::Kind::escalate:
    case Rule::Kind::sequence:
      begin_undo(std::move(h), -1, static_cast<int>(Status::escalated), false, out);
      return;
  }
}

void RunModel::roll_back(const Hypothesis& h, const Rule& rule, List& out) const {
  const Facts& facts = h.facts;
  int target = -1;
  const bool by_default = rule.target == Rule::Target::last_good;
  const auto& branch = facts.branch;
  switch (rule.target) {
    case Rule::Target::last_good:
      for (auto at = branch.rbegin(); at != branch.rend() && target < 0; ++at) {
        const Position& position = facts.positions[static_cast<std::size_t>(*at)];
        if (!position.failed && !facts.has_been_tried(position)) target = *at;
      }
      break;
    case Rule::Target::latest: target = branch.empty() ? -1 : branch.back(); break;
    case Rule::Target::label: target = facts.find_label(rule.n); break;
    case Rule::Target::back: {
      const int place = static_cast<int>(branch.size()) - 1 - rule.n;
      if (place >= 0) target = branch[static_cast<std::size_t>(place)];
      // If only labels create checkpoints, counting back across others is not specified.
      for (const int other : branch) {
        if (!program_->auto_checkpoint && other != target) begin_undo(h, other, 0, false, out);
      }
      break;
    }
  }
  const bool none = target < 0;
  if (none) {
    if (rule.or_start || facts.is_branch) begin_undo(h, -1, 0, by_default, out);
    if (!rule.or_start) {
      begin_undo(h, -1, static_cast<int>(Status::escalated), false, out);
    }
    return;
  }
  // Whether a branch point counts as a checkpoint is not specified.
  if (facts.is_branch && target == 0 && !rule.or_start) {
    begin_undo(h, -1, static_cast<int>(Status::escalated), false, out);
  }
  const Position& chosen = facts.positions[static_cast<std::size_t>(target)];
  if (!facts.is_tainted(chosen)) {
    begin_undo(h, target, 0, by_default, out);
    return;
  }
  // After an undone effect: from before it, or not at all. The documents allow both.
  for (int i = 0; i < static_cast<int>(facts.positions.size()); ++i) {
    const Position& other = facts.positions[static_cast<std::size_t>(i)];
    if (other.at < chosen.at && !facts.is_tainted(other)) begin_undo(h, i, 0, by_default, out);
  }
  begin_undo(h, -1, 0, by_default, out);
  begin_undo(h, -1, static_cast<int>(Status::escalated), false, out);
}

// docs/recovery.md, "Undoing": effects intended after the target, newest first.
void RunModel::begin_undo(Hypothesis h, int target, int status, bool by_default, List& out) const {
  const int behind = h.facts.at_of(target);
  h.resumed_at = -1;
  h.chosen = Hypothesis::no_choice;
  h.undo.clear();
  h.ask.clear();
  h.ask_undo.clear();
  h.refuses = false;
  h.undo_calls = 0;
  bool stays_in_doubt = false;
  std::vector<int> doubts;
  for (int e = 0; e < effect_count; ++e) {
    const Effect& effect = h.facts.effects[static_cast<std::size_t>(e)];
    if (!plan(e).compensated || effect.inherited || effect.first_intended <= behind) continue;
    if (effect.status == Effect::Status::done) h.undo.push_back(e);
    if (effect.status != Effect::Status::undo_doubt) continue;
    stays_in_doubt = true;
    if (plan(e).settled) doubts.push_back(e);
  }
  h.facts.add({.kind = Fact::Kind::undoing, .a = target, .b = status, .c = by_default ? 1 : 0});
  h.phase = Hypothesis::Phase::undoing;
  // An effect whose compensation is in doubt is skipped, or nothing can be undone.
  if (stays_in_doubt) refuse_undo(h, behind, out);
  if (!doubts.empty()) {  // Or it is asked about again, like an effect in doubt.
    Hypothesis asking = h;
    asking.ask_undo = doubts;
    ask_in_doubt(std::move(asking), behind, out);
  }
  ask_in_doubt(std::move(h), behind, out);
}

// Ends it with nothing undone, at once or when other doubts have been asked about.
void RunModel::refuse_undo(Hypothesis h, int behind, List& out) const {
  h.undo.clear();
  h.refuses = true;
  ask_in_doubt(std::move(h), behind, out);
}

// An effect in doubt that could be undone is reconciled first; if that is impossible, nothing is
// undone.
void RunModel::ask_in_doubt(Hypothesis h, int behind, List& out) const {
  for (int e = 0; e < effect_count; ++e) {
    const Effect& effect = h.facts.effects[static_cast<std::size_t>(e)];
    if (effect.status != Effect::Status::doubt || effect.inherited) continue;
    if (plan(e).compensated && effect.first_intended > behind) h.ask.push_back(e);
  }
  const bool cannot = std::any_of(h.ask.begin(), h.ask.end(), [this](int e) {
    return plan(e).reconcile == EffectPlan::Reconcile::none;
  });
  if (cannot) {
    end_with(std::move(h), Status::escalated, bit(Errc::in_doubt) | bit(Errc::escalated), 0, true,
             out);
  } else {
    finish_undo(std::move(h), out);
  }
}

// Continues the run if nothing remains to be undone.
void RunModel::finish_undo(Hypothesis h, List& out) const {
  const auto newest = [&h](int a, int b) {
    return h.facts.effects[static_cast<std::size_t>(a)].first_intended >
           h.facts.effects[static_cast<std::size_t>(b)].first_intended;
  };
  std::sort(h.undo.begin(), h.undo.end(), newest);
  if (h.refuses) {
    h.undo.clear();
    end_with(h, Status::escalated, bit(Errc::in_doubt) | bit(Errc::escalated), 0, true, out);
    if (h.ask.empty() && h.ask_undo.empty()) return;
  }
  if (!h.ask.empty() || !h.ask_undo.empty() || !h.undo.empty()) {
    h.phase = Hypothesis::Phase::undoing;
    out.push_back(std::move(h));
    return;
  }
  const int status = h.facts.undo_status;
  if (status == 0) {
    if (h.chosen != Hypothesis::no_choice) {
      h.facts.add({.kind = Fact::Kind::rewound, .a = h.chosen});
    } else {
      h.facts.add({.kind = Fact::Kind::rewound,
                   .a = h.facts.undo_target,
                   .b = h.facts.undo_by_default ? 1 : 0});
    }
    h.chosen = Hypothesis::no_choice;
    const int resumed_at = std::exchange(h.resumed_at, -1);
    if (resumed_at < 0) {
      attempt_next(std::move(h), out);
    } else {
      start(std::move(h), resumed_at, out);
    }
    return;
  }
  Codes codes = bit(status == static_cast<int>(Status::aborted) ? Errc::aborted : Errc::escalated);
  for (const Effect& effect : h.facts.effects) {
    if (effect.status == Effect::Status::undo_doubt) codes |= bit(Errc::in_doubt);
  }
  end_with(std::move(h), static_cast<Status>(status), codes, 0, false, out);
}

// Completes the undo that a dead process had begun, then continues the run from the target.
void RunModel::go_on_undoing(Hypothesis h, int now, List& out) const {
  h.resumed_at = now;
  const int behind = h.facts.at_of(h.facts.undo_target);
  h.undo.clear();
  h.ask.clear();
  h.ask_undo.clear();
  h.refuses = false;
  h.undo_calls = 0;
  bool lost = false;
  for (int e = 0; e < effect_count; ++e) {
    const Effect& effect = h.facts.effects[static_cast<std::size_t>(e)];
    if (effect.inherited || !plan(e).compensated || effect.first_intended <= behind) continue;
    if (effect.status == Effect::Status::done) h.undo.push_back(e);
    if (effect.status != Effect::Status::undo_doubt) continue;
    if (plan(e).settled) {
      h.ask_undo.push_back(e);
    } else {
      lost = true;
    }
  }
  if (lost) {  // At once, or after the others are undone.
    refuse_undo(h, behind, out);
    if (!h.undo.empty() || !h.ask_undo.empty()) {
      h.facts.undo_status = static_cast<int>(Status::escalated);
      finish_undo(h, out);
    }
    return;
  }
  if (h.facts.undo_status != 0) finish_undo(h, out);  // Or it ends as intended.
  h.facts.undo_status = 0;
  ask_in_doubt(std::move(h), behind, out);
}

void RunModel::undo_refused(List& hypotheses) const {
  List more;
  for (const Hypothesis& h : hypotheses) {
    if (!shaken_ || h.phase != Hypothesis::Phase::undoing) continue;
    Hypothesis refused = h;
    refused.undo.clear();
    refused.ask.clear();
    refused.ask_undo.clear();
    finish_undo(refused, more);
    end_with(std::move(refused), Status::escalated, bit(Errc::escalated), 0, true, more);
  }
  for (Hypothesis& h : more) hypotheses.push_back(std::move(h));
}

void RunModel::sleep_without_store(List& hypotheses) const {
  List more;
  for (const Hypothesis& h : hypotheses) {
    if (!shaken_ || h.phase != Hypothesis::Phase::to_return) continue;
    if (h.facts.status != Status::suspended || (h.codes & bit(Errc::suspended)) == 0) continue;
    if (h.facts.waiting.cause != Waiting::Cause::backoff) continue;
    Hypothesis slept = h;
    slept.facts.cut(h.facts.size() - 1);
    slept.facts.add({.kind = Fact::Kind::start_over});
    attempt_next(std::move(slept), more);
  }
  for (Hypothesis& h : more) hypotheses.push_back(std::move(h));
}

void RunModel::undo_failed(Hypothesis& h) const {
  if (++h.undo_calls < 3 || h.undo.empty()) return;
  h.undo.erase(h.undo.begin());
  h.undo_calls = 0;
}

}  // namespace triage::campaign
