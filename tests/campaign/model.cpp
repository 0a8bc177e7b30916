// SPDX-License-Identifier: MIT
// What is observed of a run, and which hypotheses remain.
#include "model.hpp"

#include <algorithm>
#include <sstream>

namespace triage::campaign {
namespace {

using Phase = Hypothesis::Phase;

std::string text_of(const Values& values) {
  std::ostringstream out;
  out << "{";
  for (std::size_t i = 0; i < key_names.size(); ++i) {
    if (values.all[i] >= 0) out << " " << key_names[i] << ":" << values.all[i];
  }
  out << " }";
  return out.str();
}

}  // namespace

std::string text_of(Codes codes) {
  std::string out;
  for (unsigned i = 0; i < 20; ++i) {
    if ((codes & (1U << i)) == 0) continue;
    out += (out.empty() ? "" : "|");
    out += i == 0 ? "success" : std::string(to_string(static_cast<Errc>(i)));
  }
  return out;
}

void RunModel::tell(const std::string& seen) const {
  *findings_->told << name_ << ": " << seen << "\n";
  for (const Hypothesis& h : hypotheses_)
    *findings_->told << "    expected " << expected(h) << "\n";
}

std::string RunModel::expected(const Hypothesis& h) const {
  std::ostringstream out;
  switch (h.phase) {
    case Phase::idle:
      out << "it to be " << status_names[static_cast<std::size_t>(h.facts.status)]
          << ", with checkpoints of";
      for (const Position& position : h.facts.positions) {
        out << " " << position.steps.count;
        if (position.label >= 0) out << "=L" << position.label;
      }
      out << " steps";
      break;
    case Phase::to_attempt:
      out << "attempt " << h.facts.attempts + 1 << " with " << text_of(h.facts.state) << " and "
          << h.facts.steps.count << " steps";
      break;
    case Phase::in_attempt: out << "the attempt to go on"; break;
    case Phase::undoing:
      for (const int e : h.ask) out << "e" << e << " to be reconciled, ";
      for (const int e : h.ask_undo) out << "the compensation of e" << e << " to be settled, ";
      for (const int e : h.undo) out << "e" << e << " to be undone, ";
      break;
    case Phase::to_return:
      out << "the call to return " << text_of(h.codes);
      if ((h.codes & success) != 0) out << " " << h.value;
      break;
  }
  if (h.phase == Phase::in_attempt) {
    for (std::size_t e = 0; e < h.facts.effects.size(); ++e) {
      static constexpr std::array names{"free", "in doubt", "done", "undone or not"};
      const Effect& effect = h.facts.effects[e];
      out << ", e" << e << " " << names[static_cast<std::size_t>(effect.status)] << " (generation "
          << effect.generation << ")";
    }
  }
  return out.str();
}

void RunModel::attempt_began(int number, const Values& state, const Steps& steps,
                             bool past_deadline) {
  const std::string seen = "attempt " + std::to_string(number) + " begins with " + text_of(state) +
                           " and " + std::to_string(steps.count) + " steps";
  if (past_deadline) {
    findings_->say(name_ + ": " + seen + " after the deadline");
    return;
  }
  ++begun_;
  undo_refused(hypotheses_);
  sleep_without_store(hypotheses_);
  const bool anew = shaken_ && !program_->fails_with_store && number == 1 && state == Values{} &&
                    steps.count == 0;
  each(seen, [&](Hypothesis& h, List& out) {
    const Facts& facts = h.facts;
    if (anew && facts.status != Status::absent && h.phase == Phase::to_return) {
      out.push_back(detached(h));
      return;
    }
    const int left_out = number - facts.attempts - 1;  // Attempts that never began.
    if (h.phase != Phase::to_attempt || left_out < 0) return;
    if (left_out > std::max(0, facts.not_begun - 1)) return;
    if (!(facts.state == state) || !(facts.steps == steps)) return;
    note_drained(h);
    h.facts.add({.kind = Fact::Kind::attempt, .a = number});
    h.phase = Phase::in_attempt;
    h.asked_in_vain = false;
    h.heard = -1;
    h.carried_out = false;
    if (number == 1 && !shaken_) acknowledge(h);
    out.push_back(std::move(h));
  });
}

// If the store cannot be read, the run may go on in memory only, and nothing of it counts.
Hypothesis RunModel::detached(const Hypothesis& h) const {
  Hypothesis alone{.facts = Facts(program_->auto_checkpoint)};
  alone.stored = std::make_shared<Hypothesis>(h);
  alone.stored->phase = Phase::idle;
  alone.facts.add({.kind = Fact::Kind::started});
  alone.facts.add({.kind = Fact::Kind::attempt});
  alone.phase = Phase::in_attempt;
  return alone;
}

void RunModel::note_drained(Hypothesis& h) const {
  if (!shaken_) h.durable = std::max(h.durable, h.drained);
  h.drained = 0;
}

void RunModel::record(const Fact& fact, bool durable) {
  each("something is recorded", [&](Hypothesis& h, List& out) {
    if (h.phase != Phase::in_attempt) return;
    if (fact.kind == Fact::Kind::forget &&
        h.facts.state.all[static_cast<std::size_t>(fact.a)] < 0) {
      out.push_back(std::move(h));
      return;
    }
    h.facts.add(fact);
    // A labelled checkpoint is durable in every write mode, steps only while nothing fails.
    if (durable && (fact.kind == Fact::Kind::label || !shaken_)) acknowledge(h);
    out.push_back(std::move(h));
  });
}

void RunModel::effect_called(int effect, int generation) {
  const std::string seen = "the function of e" + std::to_string(effect) +
                           " is called, generation " + std::to_string(generation);
  each(seen, [&](Hypothesis& h, List& out) {
    if (shaken_ && h.heard == effect) {  // An answer that could not be stored is void.
      h.facts.forget_answer(effect);
      h.asked_in_vain = true;
    }
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    const EffectPlan& asked = plan(effect);
    if (h.phase != Phase::in_attempt || known.generation != generation || h.stored) return;
    const bool again = known.status == Effect::Status::doubt &&
                       asked.semantics != EffectPlan::Semantics::at_most_once &&
                       (asked.reconcile == EffectPlan::Reconcile::none || h.asked_in_vain);
    if (known.status != Effect::Status::free && !again) return;
    h.was_in_doubt = known.status == Effect::Status::doubt;
    // Under an inherited idempotency key it is the same act, which only its origin undoes.
    const bool shared =
        again && known.inherited && asked.semantics == EffectPlan::Semantics::idempotent;
    h.facts.add({.kind = Fact::Kind::intent, .a = effect, .b = shared ? 1 : 0});
    acknowledge(h);  // Before the function runs, in every write mode.
    h.asked_in_vain = false;
    h.heard = -1;
    h.carried_out = true;
    out.push_back(std::move(h));
  });
}

void RunModel::effect_ended(int effect, CallEnd end, int result) {
  each("an effect's function ends", [&](Hypothesis& h, List& out) {
    if (end == CallEnd::returned) {
      h.facts.add({.kind = Fact::Kind::done, .a = effect, .b = result});
    } else if (end == CallEnd::not_done && !h.was_in_doubt) {  // Else the earlier doubt remains.
      h.facts.add({.kind = Fact::Kind::withdrawn, .a = effect});
    }
    out.push_back(std::move(h));
  });
}

void RunModel::effect_gave(int effect, int result) {
  const std::string seen =
      "e" + std::to_string(effect) + " gives its result " + std::to_string(result);
  each(seen, [&](Hypothesis& h, List& out) {
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    if (h.phase != Phase::in_attempt || known.status != Effect::Status::done) return;
    if (known.result != result) return;
    if (h.carried_out) acknowledge(h);  // A result that was already known writes nothing.
    h.carried_out = false;
    h.heard = -1;
    out.push_back(std::move(h));
  });
}

// Whether the request of this effect ends the attempt because nobody knows its outcome.
bool RunModel::stops_by_doubt(const Hypothesis& h, int effect) const {
  const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
  const EffectPlan& asked = plan(effect);
  return known.status == Effect::Status::undo_doubt ||
         (known.status == Effect::Status::doubt &&
          asked.semantics == EffectPlan::Semantics::at_most_once &&
          (asked.reconcile == EffectPlan::Reconcile::none || h.asked_in_vain));
}

void RunModel::effect_stopped(int effect) {
  each("e" + std::to_string(effect) + " stops the attempt", [&](Hypothesis& h, List& out) {
    if (h.phase != Phase::in_attempt) return;
    if (shaken_) {
      return_with(h, store_errors, out);
      end_with(h, Status::escalated, bit(Errc::in_doubt), 0, true, out);
    }
    if (!stops_by_doubt(h, effect)) return;
    end_with(std::move(h), Status::escalated, bit(Errc::in_doubt), 0, true, out);
  });
}

void RunModel::reconciled(int effect, int answer, int result) {
  each("e" + std::to_string(effect) + " is reconciled", [&](Hypothesis& h, List& out) {
    // An answer that could not be stored is void, and is requested again.
    if (shaken_ && h.phase == Phase::in_attempt) h.facts.forget_answer(effect);
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    const auto asked = std::find(h.ask.begin(), h.ask.end(), effect);
    const bool undoing = h.phase == Phase::undoing && asked != h.ask.end();
    if (known.status != Effect::Status::doubt) return;
    if (!undoing && h.phase != Phase::in_attempt) return;
    ++begun_;
    const auto kind = answer > 0 ? Fact::Kind::done : Fact::Kind::withdrawn;
    const Fact settled{.kind = kind, .a = effect, .b = result};
    Hypothesis unheard = h;  // An answer that cannot be stored is void.
    unheard.if_shaken = true;
    if (answer >= 0) unheard.late.push_back(settled);
    if (undoing) {
      end_with(unheard, Status::escalated, bit(Errc::in_doubt) | bit(Errc::escalated), 0, true,
               out);
    } else {
      unheard.asked_in_vain = true;
      out.push_back(unheard);
    }
    if (answer >= 0) {
      const int durable = h.facts.settle(settled, h.durable);
      if (undoing && !shaken_) h.durable = durable;
    }
    if (!undoing) {
      h.asked_in_vain = answer < 0;
      h.carried_out = answer > 0;  // Durable before the result is given.
      h.heard = answer > 0 ? effect : -1;
      out.push_back(std::move(h));
      return;
    }
    if (answer < 0) {
      end_with(std::move(h), Status::escalated, bit(Errc::in_doubt) | bit(Errc::escalated), 0, true,
               out);
      return;
    }
    h.ask.erase(asked);
    const Effect& now = h.facts.effects[static_cast<std::size_t>(effect)];
    if (answer > 0 && plan(effect).compensated && !now.inherited &&
        now.first_intended > h.facts.at_of(h.facts.undo_target)) {
      h.undo.push_back(effect);
    }
    finish_undo(std::move(h), out);
  });
}

void RunModel::undo_called(int effect, int generation, int result) {
  each("e" + std::to_string(effect) + " is undone", [&](Hypothesis& h, List& out) {
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    if (h.phase != Phase::undoing || !h.ask.empty() || h.undo.empty()) return;
    if (h.undo.front() != effect || known.generation != generation) return;
    if (known.result != result) return;
    ++begun_;
    note_drained(h);
    h.facts.add({.kind = Fact::Kind::undo_intent, .a = effect});
    acknowledge(h);
    out.push_back(std::move(h));
  });
}

void RunModel::undo_ended(int effect, CallEnd end) {
  each("a compensation ends", [&](Hypothesis& h, List& out) {
    if (end == CallEnd::returned) {
      Hypothesis unheard = h;  // The fact that it was undone may not be stored.
      unheard.if_shaken = true;
      unheard.late.push_back({.kind = Fact::Kind::undone, .a = effect});
      unheard.undo.erase(unheard.undo.begin());
      unheard.undo_calls = 0;
      finish_undo(std::move(unheard), out);
      h.facts.add({.kind = Fact::Kind::undone, .a = effect});
      h.undo.erase(h.undo.begin());
      h.undo_calls = 0;
    } else if (end == CallEnd::not_done) {
      h.facts.add({.kind = Fact::Kind::undo_given_up, .a = effect});
      undo_failed(h);
    } else {
      h.undo.erase(h.undo.begin());
      if (plan(effect).settled) h.ask_undo.push_back(effect);
    }
    finish_undo(std::move(h), out);
  });
}

void RunModel::undo_settled(int effect, bool undone) {
  each("the compensation of e" + std::to_string(effect) + " is settled", [&](Hypothesis& h,
                                                                             List& out) {
    const auto asked = std::find(h.ask_undo.begin(), h.ask_undo.end(), effect);
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    if (h.phase == Phase::in_attempt && known.status == Effect::Status::undo_doubt) {
      h.facts.add({.kind = undone ? Fact::Kind::undone : Fact::Kind::undo_given_up, .a = effect});
      if (!shaken_) acknowledge(h);
      out.push_back(std::move(h));
      return;
    }
    // The fact that it was undone could not be stored.
    if (h.phase == Phase::in_attempt && shaken_ && undone && known.status == Effect::Status::free) {
      out.push_back(std::move(h));
      return;
    }
    if (h.phase != Phase::undoing || asked == h.ask_undo.end()) return;
    ++begun_;
    h.ask_undo.erase(asked);
    const Fact settled{.kind = undone ? Fact::Kind::undone : Fact::Kind::undo_given_up,
                       .a = effect};
    Hypothesis unheard = h;  // An answer that cannot be stored is void.
    unheard.if_shaken = true;
    unheard.late.push_back(settled);
    finish_undo(std::move(unheard), out);
    const int durable = h.facts.settle(settled, h.durable);
    if (!shaken_) h.durable = durable;
    if (!undone) h.undo.push_back(effect);
    finish_undo(std::move(h), out);
  });
}

}  // namespace triage::campaign
