// SPDX-License-Identifier: MIT
// What is seen of a run, and which hypotheses it leaves.
#include "model.hpp"

#include <algorithm>
#include <sstream>

namespace triage::campaign {
namespace {

using Phase = Hypothesis::Phase;
constexpr std::array status_names{"absent",  "running",   "finished", "escalated",
                                  "aborted", "cancelled", "suspended"};
constexpr Codes store_errors = bit(Errc::io) | bit(Errc::in_doubt);

std::string text_of(const Values& values) {
  std::ostringstream out;
  out << "{";
  for (std::size_t i = 0; i < key_names.size(); ++i) {
    if (values.all[i] >= 0) out << " " << key_names[i] << ":" << values.all[i];
  }
  out << " }";
  return out.str();
}

std::string text_of(Codes codes) {
  std::string out;
  for (unsigned i = 0; i < 20; ++i) {
    if ((codes & (1U << i)) == 0) continue;
    out += (out.empty() ? "" : "|");
    out += i == 0 ? "success" : std::string(to_string(static_cast<Errc>(i)));
  }
  return out;
}

// Of several checkpoints with one label the newest one has it.
bool are_listed(const std::vector<Position>& known, std::size_t skipped,
                const std::vector<std::pair<int, int>>& checkpoints) {
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const Position& position = known[i + skipped];
    if (position.steps.count != checkpoints[i].first) return false;
    if (position.label == checkpoints[i].second) continue;
    const bool newer =
        std::any_of(known.begin() + static_cast<std::ptrdiff_t>(i + skipped) + 1, known.end(),
                    [&](const Position& other) { return other.label == position.label; });
    if (checkpoints[i].second >= 0 || !newer) return false;
  }
  return true;
}

void mark_durable(Hypothesis& h) { h.durable = h.facts.size(); }

}  // namespace

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
  const bool anew = shaken_ && !program_->fails_with_store && number == 1 && state == Values{} &&
                    steps.count == 0;
  each(seen, [&](Hypothesis& h, List& out) {
    const Facts& facts = h.facts;
    if (anew && facts.status != Status::absent && h.phase == Phase::to_return) {
      out.push_back(detached(h));
      return;
    }
    if (h.phase != Phase::to_attempt || number != facts.attempts + 1) return;
    if (!(facts.state == state) || !(facts.steps == steps)) return;
    note_drained(h);
    h.facts.add({.kind = Fact::Kind::attempt});
    h.phase = Phase::in_attempt;
    h.asked_in_vain = false;
    h.carried_out = false;
    if (number == 1 && !shaken_) mark_durable(h);
    out.push_back(std::move(h));
  });
}

// A store that cannot be asked leaves the run to memory, if it may: nothing of it counts.
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
    // A checkpoint with a label keeps its word under every setting, steps only where nothing fails.
    if (durable && (fact.kind == Fact::Kind::label || !shaken_)) mark_durable(h);
    out.push_back(std::move(h));
  });
}

void RunModel::effect_called(int effect, int generation) {
  const std::string seen = "the function of e" + std::to_string(effect) +
                           " is called, generation " + std::to_string(generation);
  each(seen, [&](Hypothesis& h, List& out) {
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    const EffectPlan& asked = plan(effect);
    if (h.phase != Phase::in_attempt || known.generation != generation || h.stored) return;
    const bool again = known.status == Effect::Status::doubt &&
                       asked.semantics != EffectPlan::Semantics::at_most_once &&
                       (asked.reconcile == EffectPlan::Reconcile::none || h.asked_in_vain);
    if (known.status != Effect::Status::free && !again) return;
    h.facts.add({.kind = Fact::Kind::intent, .a = effect});
    mark_durable(h);  // Before the function runs, under every setting.
    h.asked_in_vain = false;
    h.carried_out = true;
    out.push_back(std::move(h));
  });
}

void RunModel::effect_ended(int effect, CallEnd end, int result) {
  each("an effect's function ends", [&](Hypothesis& h, List& out) {
    if (end == CallEnd::returned) {
      h.facts.add({.kind = Fact::Kind::done, .a = effect, .b = result});
    } else if (end == CallEnd::not_done) {
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
    if (h.carried_out) mark_durable(h);  // A result that was known before writes nothing.
    h.carried_out = false;
    out.push_back(std::move(h));
  });
}

void RunModel::effect_stopped(int effect) {
  each("e" + std::to_string(effect) + " stops the attempt", [&](Hypothesis& h, List& out) {
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    const EffectPlan& asked = plan(effect);
    if (h.phase != Phase::in_attempt) return;
    if (shaken_) {
      return_with(h, store_errors, out);
      end_with(h, Status::escalated, bit(Errc::in_doubt), 0, true, out);
    }
    const bool in_doubt = known.status == Effect::Status::undo_doubt ||
                          (known.status == Effect::Status::doubt &&
                           asked.semantics == EffectPlan::Semantics::at_most_once &&
                           (asked.reconcile == EffectPlan::Reconcile::none || h.asked_in_vain));
    if (in_doubt) end_with(std::move(h), Status::escalated, bit(Errc::in_doubt), 0, true, out);
  });
}

void RunModel::reconciled(int effect, int answer, int result) {
  each("e" + std::to_string(effect) + " is reconciled", [&](Hypothesis& h, List& out) {
    const Effect& known = h.facts.effects[static_cast<std::size_t>(effect)];
    const auto asked = std::find(h.ask.begin(), h.ask.end(), effect);
    const bool undoing = h.phase == Phase::undoing && asked != h.ask.end();
    if (known.status != Effect::Status::doubt) return;
    if (!undoing && h.phase != Phase::in_attempt) return;
    if (answer > 0) h.facts.add({.kind = Fact::Kind::done, .a = effect, .b = result});
    if (answer == 0) h.facts.add({.kind = Fact::Kind::withdrawn, .a = effect});
    if (answer >= 0 && !shaken_) mark_durable(h);
    if (!undoing) {
      h.asked_in_vain = answer < 0;
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
        now.last_intended > h.facts.at_of(h.facts.undo_target)) {
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
    note_drained(h);
    h.facts.add({.kind = Fact::Kind::undo_intent, .a = effect});
    mark_durable(h);
    out.push_back(std::move(h));
  });
}

void RunModel::undo_ended(int effect, CallEnd end) {
  each("a compensation ends", [&](Hypothesis& h, List& out) {
    if (end == CallEnd::returned) {
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
    if (h.phase != Phase::undoing || asked == h.ask_undo.end()) return;
    h.ask_undo.erase(asked);
    h.facts.add({.kind = undone ? Fact::Kind::undone : Fact::Kind::undo_given_up, .a = effect});
    if (!undone) h.undo.push_back(effect);
    finish_undo(std::move(h), out);
  });
}

void RunModel::attempt_returned(int value) {
  each("the attempt returns", [&](Hypothesis& h, List& out) {
    end_with(std::move(h), Status::finished, success, value, false, out);
  });
}

void RunModel::attempt_failed(int type, int critical, int now) {
  each("the attempt fails", [&](Hypothesis& h, List& out) {
    h.drained = h.facts.size();  // Before it is classified; what it led to may be lost.
    h.facts.add({.kind = Fact::Kind::failure, .a = type, .b = critical});
    const Facts& facts = h.facts;
    const bool exhausted = facts.all_failures >= program_->max_attempts ||
                           facts.failures[static_cast<std::size_t>(type)] >= program_->max_per_type;
    if (exhausted || facts.attempts >= program_->max_attempts) act(h, Rule{}, type, now, out);
    if (!exhausted) act(h, decided(h, type), type, now, out);
  });
}

void RunModel::attempt_parked(const Waiting& waiting) {
  each("the attempt is put aside",
       [&](Hypothesis& h, List& out) { put_aside(std::move(h), waiting, out); });
}

void RunModel::attempt_cancelled() {
  each("the attempt is cancelled", [&](Hypothesis& h, List& out) {
    end_with(std::move(h), Status::cancelled, bit(Errc::cancelled), 0, false, out);
  });
}

// As what it is classified is not said; it is not run again.
void RunModel::attempt_too_late(int now) {
  each("the attempt is stopped at the deadline", [&](Hypothesis& h, List& out) {
    for (int type = 0; type < type_count; ++type) {
      Hypothesis failed = h;
      failed.facts.add({.kind = Fact::Kind::failure, .a = type, .b = -1});
      const Rule rule = decided(failed, type);
      act(std::move(failed), rule, type, now, out);
    }
    end_with(std::move(h), Status::escalated, bit(Errc::escalated), 0, false, out);
  });
}

// Its answer may have been lost behind the commit.
void RunModel::label_refused(int label) {
  each("a checkpoint is refused", [&](Hypothesis& h, List& out) {
    if (!shaken_) return;
    out.push_back(h);
    h.facts.add({.kind = Fact::Kind::label, .a = label});
    out.push_back(std::move(h));
  });
}

void RunModel::waited(int signal, int value, bool in_time) {
  each("signal " + std::to_string(signal) + " gives " + std::to_string(value),
       [&](Hypothesis& h, List& out) {
         const int known = h.facts.answers[static_cast<std::size_t>(signal)];
         if (known != -2 && known != value) return;
         // A new answer is what was sent, or that its deadline has passed.
         if (known == -2 && value != sent(signal)) return;
         if (known == -2 && value < 0 && in_time) return;
         if (known == -2) h.facts.add({.kind = Fact::Kind::signal, .a = signal, .b = value});
         if (known == -2 && !shaken_) mark_durable(h);
         out.push_back(std::move(h));
       });
}

void RunModel::returned(Codes code, int value, const std::string& detail) {
  const std::string seen = "the call returns " + text_of(code) +
                           (code == success ? " " + std::to_string(value) : " (" + detail + ")");
  undo_refused(hypotheses_);
  each(seen, [&](Hypothesis& h, List& out) {
    const bool fits = h.phase == Phase::to_return && (h.codes & code) != 0 &&
                      (code != success || h.value == value);
    // A store that failed may end the call at any place, with what had become durable by then.
    const bool store_error = shaken_ && (code & store_errors) != 0;
    if (h.stored && code != success) {
      out.push_back(*h.stored);
      return;
    }
    if (h.stored) return;
    if (!fits && !store_error) return;
    note_drained(h);
    const int all = h.facts.size();
    h.phase = Phase::idle;
    if (fits && !shaken_) {
      mark_durable(h);
      out.push_back(std::move(h));
      return;
    }
    if (code == success) {  // Acknowledged: it is stored as finished.
      mark_durable(h);
      out.push_back(std::move(h));
      return;
    }
    for (int cut = all; cut >= h.durable; --cut) {
      Hypothesis shorter = h;
      shorter.facts.cut(cut);
      shorter.durable = cut;
      out.push_back(std::move(shorter));
    }
  });
}

void RunModel::owner_gone() {
  each("the owner is gone", [&](Hypothesis& h, List& out) {
    if (h.stored) {
      out.push_back(*h.stored);
      return;
    }
    h.phase = Phase::idle;
    for (int cut = h.facts.size(); cut >= h.durable; --cut) {
      Hypothesis shorter = h;
      shorter.facts.cut(cut);
      shorter.durable = cut;
      out.push_back(std::move(shorter));
    }
  });
}

void RunModel::listed(const std::vector<std::pair<int, int>>& checkpoints,
                      const std::string& status) {
  std::string seen = "the store says " + status + ", with checkpoints of";
  for (const auto& [steps, label] : checkpoints) {
    seen += " " + std::to_string(steps) + (label < 0 ? "" : "=L" + std::to_string(label));
  }
  each(seen + " steps", [&](Hypothesis& h, List& out) {
    const bool ran = h.facts.status == Status::running;
    if (status_names[static_cast<std::size_t>(h.facts.status)] != status &&
        !(ran && ever_shaken_ && status == "failed")) {
      return;
    }
    const std::vector<Position> known = h.facts.with_open();
    const bool open = known.size() > h.facts.positions.size();
    // Whether a branch point is listed, and what has not ended yet, is not said.
    for (h.not_listed = 0; h.not_listed <= (h.facts.is_branch ? 1 : 0); ++h.not_listed) {
      const std::size_t skipped = static_cast<std::size_t>(h.not_listed);
      const std::size_t left_out = known.size() - skipped - checkpoints.size();
      if (left_out != 0 && !(open && left_out == 1)) continue;
      if (!are_listed(known, skipped, checkpoints)) continue;
      out.push_back(std::move(h));
      return;
    }
  });
}

}  // namespace triage::campaign
