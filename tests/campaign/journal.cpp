// SPDX-License-Identifier: MIT
#include "journal.hpp"

#include <algorithm>

namespace triage::campaign {

void Facts::push(int at, int label) {
  Position position;
  position.at = at;
  position.label = label;
  position.previous = branch.empty() ? -1 : branch.back();
  position.state = state;
  position.steps = steps;
  branch.push_back(static_cast<int>(positions.size()));
  positions.push_back(position);
  open_ = false;
}

// An automatic checkpoint ends at the last fact that belongs to it.
void Facts::close() {
  if (open_ && automatic_) push(open_last_, -1);
}

void Facts::begin_again() {
  state = start_state_;
  steps = start_steps_;
  open_ = false;  // Checkpoints of earlier attempts stay targets of a rollback.
  for (Undone& undone : undone_) undone.still_contained = false;
}

void Facts::rewind(const Fact& fact) {
  if (fact.a < 0) {
    begin_again();
    return;
  }
  Position& target = positions[static_cast<std::size_t>(fact.a)];
  if (fact.b != 0) target.used = true;
  state = target.state;
  steps = target.steps;
  open_ = false;
  branch.clear();
  for (int at = fact.a; at >= 0; at = positions[static_cast<std::size_t>(at)].previous) {
    branch.insert(branch.begin(), at);
  }
  for (Undone& undone : undone_) {
    if (undone.intended > target.at) undone.still_contained = false;
  }
}

void Facts::note_failure(const Fact& fact) {
  if (fact.c == 0) {
    ++all_failures;
    ++failures[static_cast<std::size_t>(fact.a)];
  }
  if (fact.b < 0) return;
  for (std::size_t i = first_of_attempt_; i < positions.size(); ++i) {
    if (positions[i].steps.count > fact.b) positions[i].failed = true;
  }
}

void Facts::apply_effect(const Fact& fact) {
  Effect& effect = effects[static_cast<std::size_t>(fact.a)];
  switch (fact.kind) {
    case Fact::Kind::inherited:
      effect.status = fact.b != 0 ? Effect::Status::done : Effect::Status::doubt;
      effect.result = fact.c;
      effect.inherited = true;
      effect.generation = fact.steps.count;
      break;
    case Fact::Kind::intent:
      if (effect.first_intended == 0) effect.first_intended = size();
      effect.status = Effect::Status::doubt;
      effect.inherited = fact.b != 0;
      break;
    case Fact::Kind::done:
      effect.status = Effect::Status::done;
      effect.result = fact.b;
      break;
    case Fact::Kind::withdrawn:
      effect.status = Effect::Status::free;
      effect.first_intended = 0;
      break;
    case Fact::Kind::undo_intent:
      effect.status = Effect::Status::undo_doubt;
      if (!effect.inherited) {
        undone_.push_back({.effect = fact.a, .intended = effect.first_intended, .at = size()});
      }
      break;
    case Fact::Kind::undo_given_up:
      effect.status = Effect::Status::done;
      std::erase_if(undone_, [&](const Undone& undone) {
        return undone.effect == fact.a && undone.in_doubt;
      });
      break;
    case Fact::Kind::undone:
      for (Undone& undone : undone_) {
        if (undone.effect == fact.a) undone.in_doubt = false;
      }
      effect = Effect{.generation = effect.generation + 1};
      break;
    default: break;
  }
}

void Facts::apply_course(const Fact& fact) {
  switch (fact.kind) {
    case Fact::Kind::started:
      status = Status::running;
      ++not_begun;
      break;
    case Fact::Kind::forked:
      status = Status::running;
      is_branch = true;
      ++not_begun;
      state = start_state_ = fact.v;
      steps = start_steps_ = fact.steps;
      push(size(), -1);
      break;
    case Fact::Kind::attempt:
      close();
      attempts = fact.a > 0 ? fact.a : attempts + 1;
      not_begun = 0;
      first_of_attempt_ = positions.size();
      status = Status::running;
      break;
    case Fact::Kind::undoing:
      is_undoing = true;
      undo_target = fact.a;
      undo_status = fact.b;
      undo_by_default = fact.c != 0;
      break;
    case Fact::Kind::waiting:
      close();
      status = Status::suspended;
      waiting = fact.waiting;
      suspension = size();
      break;
    case Fact::Kind::going_on:
      ++not_begun;
      if (open_) push(open_last_, -1);  // The point where a run continues can be restored.
      for (Undone& undone : undone_) {
        const bool behind = !branch.empty() && undone.intended > at_of(branch.back());
        if (behind) undone.still_contained = false;
      }
      status = Status::running;
      break;
    case Fact::Kind::ended:
      close();
      is_undoing = fact.c == 2;
      status = static_cast<Status>(fact.a);
      result = fact.b;
      by_doubt = fact.c != 0;
      break;
    default: break;
  }
}

void Facts::add(const Fact& fact) {
  facts_.push_back(fact);
  Steps mixed{.count = 0, .hash = fingerprint_};
  for (const int part : {static_cast<int>(fact.kind), fact.a, fact.b, fact.c, fact.steps.count,
                         fact.waiting.until, fact.waiting.signal}) {
    mixed.add(part);
  }
  for (const int value : fact.v.all) mixed.add(value);
  fingerprint_ = mixed.hash;
  switch (fact.kind) {
    case Fact::Kind::step:
      close();
      steps.add(fact.a);
      open_ = true;
      open_last_ = size();
      break;
    case Fact::Kind::change:
      for (std::size_t i = 0; i < state.all.size(); ++i) {
        if (fact.v.all[i] >= 0) state.all[i] = fact.v.all[i];
      }
      open_ = true;
      open_last_ = size();
      break;
    case Fact::Kind::forget:
      state.all[static_cast<std::size_t>(fact.a)] = -1;
      open_ = true;
      open_last_ = size();
      break;
    case Fact::Kind::label: push(size(), fact.a); break;
    case Fact::Kind::failure:
      close();
      note_failure(fact);
      break;
    case Fact::Kind::start_over:
      close();
      if (fact.a > 0) ++replans[static_cast<std::size_t>(fact.a - 1)];
      begin_again();
      break;
    case Fact::Kind::rewound:
      close();
      is_undoing = false;
      rewind(fact);
      break;
    case Fact::Kind::signal: answers[static_cast<std::size_t>(fact.a)] = fact.b; break;
    case Fact::Kind::inherited:
    case Fact::Kind::intent:
    case Fact::Kind::done:
    case Fact::Kind::withdrawn:
    case Fact::Kind::undo_intent:
    case Fact::Kind::undone:
    case Fact::Kind::undo_given_up: apply_effect(fact); break;
    default: apply_course(fact); break;
  }
}

void Facts::cut(int count) {
  if (count >= size()) return;
  const std::vector<Fact> kept(facts_.begin(), facts_.begin() + count);
  *this = Facts(automatic_);
  for (const Fact& fact : kept) add(fact);
}

bool Facts::forget_unanswered() {
  using Kind = Fact::Kind;
  const auto is_answer = [](const Fact& fact) {
    return fact.kind == Kind::done || fact.kind == Kind::withdrawn || fact.kind == Kind::undone ||
           fact.kind == Kind::undo_given_up;
  };
  const auto newest = std::find_if_not(facts_.rbegin(), facts_.rend(), is_answer);
  if (newest == facts_.rend() || newest->kind != Kind::failure || newest->c != 0) return false;
  newest->c = 1;
  const std::vector<Fact> all = facts_;
  *this = Facts(automatic_);
  for (const Fact& fact : all) add(fact);
  return true;
}

void Facts::forget_answer(int effect) {
  const Fact& newest = facts_.back();
  if (newest.a != effect) return;
  if (newest.kind == Fact::Kind::done || newest.kind == Fact::Kind::withdrawn) cut(size() - 1);
}

int Facts::settle(const Fact& answer, int durable) {
  if (durable >= size() || facts_.back().kind != Fact::Kind::undoing) {
    add(answer);
    return size();
  }
  const Fact decision = facts_.back();
  cut(size() - 1);
  add(answer);
  durable = size();
  add(decision);
  return durable;
}

bool Facts::has_been_tried(const Position& position) const {
  return std::any_of(positions.begin(), positions.end(), [&](const Position& other) {
    return other.used && (other.at == position.at ||
                          (other.at < position.at && other.steps.count == position.steps.count));
  });
}

bool Facts::is_tainted(const Position& position) const {
  return std::any_of(undone_.begin(), undone_.end(), [&](const Undone& undone) {
    return undone.intended < position.at && position.at < undone.at;
  });
}

int Facts::before_undone() const {
  int first = 0;
  for (const Undone& undone : undone_) {
    if (undone.still_contained && (first == 0 || undone.intended < first)) first = undone.intended;
  }
  if (first == 0 || (open_ && open_last_ < first)) return -2;
  for (auto at = branch.rbegin(); at != branch.rend(); ++at) {
    const bool tainted = is_tainted(positions[static_cast<std::size_t>(*at)]);
    if (at_of(*at) < first && !tainted) return *at;
  }
  return -1;
}

std::vector<Position> Facts::with_open() const {
  std::vector<Position> all = positions;
  if (open_) all.push_back({.at = open_last_, .state = state, .steps = steps});
  return all;
}

int Facts::find_label(int label) const {
  for (int i = static_cast<int>(positions.size()) - 1; i >= 0; --i) {
    if (positions[static_cast<std::size_t>(i)].label == label) return i;
  }
  return -1;
}

}  // namespace triage::campaign
