// SPDX-License-Identifier: MIT
// The outside world: what effects change, how that can be queried, and what undoes it.
#include "play.hpp"

#include <algorithm>
#include <stdexcept>

namespace triage::campaign {

// --- The ledger

void Ledger::announce(const std::string& key, int run, int effect, int generation,
                      Findings& findings) {
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    const Entry& entry = known->second;
    if (entry.effect != effect || entry.generation != generation) {
      findings.say("one idempotency key stands for two effects, or two generations");
    }
    return;
  }
  for (const auto& [other, entry] : entries_) {
    if (entry.run == run && entry.effect == effect && entry.generation == generation) {
      findings.say("e" + std::to_string(effect) + " of r" + std::to_string(run) +
                   " gets another idempotency key in the same generation");
    }
  }
  entries_[key] = {.run = run, .effect = effect, .generation = generation};
}

int Ledger::take(const std::string& key, int run, bool idempotent, Findings& findings) {
  Entry& entry = entries_.at(key);
  if (entry.happened && !entry.undone && idempotent) {
    entry.in_place_of.insert(run);
    return entry.result;
  }
  const bool is_there = std::any_of(entries_.begin(), entries_.end(), [&](const auto& known) {
    return known.second.effect == entry.effect && known.second.in_place_of.contains(run);
  });
  if (is_there && !may_repeat[static_cast<std::size_t>(entry.effect)]) {
    findings.say("e" + std::to_string(entry.effect) + " of r" + std::to_string(run) +
                 " happened twice");
  }
  entry.in_place_of.insert(run);
  if (entry.happened && !entry.undone) repeated_.insert(entry.result);
  entry.happened = true;
  entry.undone = false;
  entry.result = ++next_result_;
  return entry.result;
}

void Ledger::undo(int result, Findings& findings) {
  for (auto& [key, entry] : entries_) {
    if (!entry.happened || entry.result != result) continue;
    if (entry.undone) {
      findings.say("e" + std::to_string(entry.effect) + " of r" + std::to_string(entry.run) +
                   " was undone twice");
    }
    entry.undone = true;
    entry.in_place_of.clear();
    return;
  }
  if (repeated_.erase(result) == 0) findings.say("an effect is undone that never happened");
}

// What is in place when a branch begins is also in place for the branch.
void Ledger::branch(int origin, int branch) {
  for (auto& [key, entry] : entries_) {
    if (entry.in_place_of.contains(origin)) entry.in_place_of.insert(branch);
  }
}

void Ledger::forget(int run) {
  for (auto& [key, entry] : entries_) entry.in_place_of.erase(run);
}

const Ledger::Entry* Ledger::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

const Ledger::Entry* Ledger::of_result(int result) const {
  for (const auto& [key, entry] : entries_) {
    if (entry.happened && entry.result == result) return &entry;
  }
  return nullptr;
}

// --- Effects

// A branch may undo an effect under its origin's key, so the key does not identify the run.
int Play::run_of(const Process& process) const {
  if (process.run >= 0) return process.run;
  const auto newest = run_numbers_.find(process.mortal->newest());
  return newest == run_numbers_.end() ? 0 : newest->second;
}

void Play::do_effect(Visit& visit, int effect, const std::vector<Trouble>& troubles) {
  const EffectPlan& plan = program_.effects[static_cast<std::size_t>(effect)];
  const std::string number = std::to_string(effect);
  EffectOptions options;
  options.semantics = static_cast<EffectSemantics>(plan.semantics);
  if (plan.reconcile != EffectPlan::Reconcile::none) options.reconcile = "find" + number;
  if (plan.compensated) options.compensate = "undo" + number;
  Process& process = visit.process;
  const int before = process.run;
  process.run = visit.run;
  try {
    const int result = visit.attempt.effect(
        "e" + number, {{"number", effect}},
        [&](const EffectCall& call) { return carry_out(visit, effect, call, troubles); }, options);
    if (process.dead) throw std::runtime_error("type 3: the process died");
    model(process, visit.run).effect_gave(effect, result);
  } catch (const AttemptStopped&) {
    process.run = before;
    if (process.dead || process.zombie) throw;
    RunModel& run = model(process, visit.run);
    if (program_.deadline > 0 && now() >= program_.deadline) {
      run.attempt_too_late(now(), effect);
    } else {
      run.effect_stopped(effect);
    }
    throw;
  } catch (const std::exception&) {
    process.run = before;
    if (process.dead || process.zombie) throw;
    model(process, visit.run).attempt_failed(3, -1, now());
    throw;
  }
  process.run = before;
}

int Play::carry_out(Visit& visit, int effect, const EffectCall& call,
                    const std::vector<Trouble>& troubles) {
  Process& process = visit.process;
  if (process.dead) throw std::runtime_error("type 3: the process died");
  if (program_.deadline > 0 && now() >= program_.deadline) {
    say("e" + std::to_string(effect) + " is carried out after the deadline");
  }
  const EffectPlan& plan = program_.effects[static_cast<std::size_t>(effect)];
  model(process, visit.run).effect_called(effect, static_cast<int>(call.generation));
  ledger_.announce(call.idempotency_key, visit.run, effect, static_cast<int>(call.generation),
                   findings_);
  if (is_over()) throw std::runtime_error("type 3: over");
  const auto take = [&] {
    return ledger_.take(call.idempotency_key, visit.run,
                        plan.semantics == EffectPlan::Semantics::idempotent, findings_);
  };
  const auto die = [&] {
    model(process, visit.run).owner_gone();
    process.dead = true;
    process.mortal->die();
    process.stop.request_stop();
  };
  for (const Trouble& trouble : troubles) {
    switch (trouble.kind) {
      case Trouble::Kind::not_done:
        model(process, visit.run).effect_ended(effect, CallEnd::not_done, 0);
        throw EffectNotDone("type 3: not done");
      case Trouble::Kind::throw_after: take(); [[fallthrough]];
      case Trouble::Kind::throw_before:
        model(process, visit.run).effect_ended(effect, CallEnd::threw, 0);
        throw std::runtime_error("type 3: the line broke");
      case Trouble::Kind::die_after: take(); [[fallthrough]];
      case Trouble::Kind::die_before: die(); throw std::runtime_error("type 3: the process died");
      default: break;
    }
  }
  const int result = take();
  model(process, visit.run).effect_ended(effect, CallEnd::returned, result);
  return result;
}

Reconciled Play::answer(Process& process, int effect, const EffectCall& call) {
  if (process.dead || process.zombie || is_over()) return Reconciled::unknown("not here");
  const Ledger::Entry* entry = ledger_.find(call.idempotency_key);
  const int run = run_of(process);
  const EffectPlan& plan = program_.effects[static_cast<std::size_t>(effect)];
  if (plan.reconcile == EffectPlan::Reconcile::unknown) {
    model(process, run).reconciled(effect, -1, 0);
    return Reconciled::unknown("nobody knows");
  }
  const bool happened = entry != nullptr && entry->happened && !entry->undone;
  const int result = happened ? entry->result : 0;
  model(process, run).reconciled(effect, happened ? 1 : 0, result);
  return happened ? Reconciled::done(result) : Reconciled::not_done();
}

void Play::undo(Process& process, int effect, const EffectCall& call) {
  if (process.dead || is_over()) throw std::runtime_error("dead");
  if (process.zombie) {
    say("a process that lost its run undoes an effect");
    return;
  }
  const int result = call.result.is_number() ? call.result.get<int>() : -1;
  const int run = run_of(process);
  model(process, run).undo_called(effect, static_cast<int>(call.generation), result);
  if (is_over()) throw std::runtime_error("over");
  ++undo_calls_;
  const auto die = [&] {
    model(process, run).owner_gone();
    process.dead = true;
    process.mortal->die();
    process.stop.request_stop();
  };
  for (const UndoTrouble& trouble : program_.undo_troubles) {
    if (trouble.call != undo_calls_) continue;
    switch (trouble.kind) {
      case UndoTrouble::Kind::not_done:
        model(process, run).undo_ended(effect, CallEnd::not_done);
        throw EffectNotDone("not yet");
      case UndoTrouble::Kind::throw_after: ledger_.undo(result, findings_); [[fallthrough]];
      case UndoTrouble::Kind::throw_before:
        model(process, run).undo_ended(effect, CallEnd::threw);
        throw std::runtime_error("the line broke");
      case UndoTrouble::Kind::die_after: ledger_.undo(result, findings_); [[fallthrough]];
      case UndoTrouble::Kind::die_before: die(); throw std::runtime_error("the process died");
    }
  }
  ledger_.undo(result, findings_);
  model(process, run).undo_ended(effect, CallEnd::returned);
}

Reconciled Play::settle(Process& process, int effect, const EffectCall& call) {
  if (process.dead || process.zombie || is_over()) return Reconciled::unknown("not here");
  const int result = call.result.is_number() ? call.result.get<int>() : -1;
  const Ledger::Entry* entry = ledger_.of_result(result);
  if (entry == nullptr) {
    say("somebody asks whether an effect was undone that never happened");
    return Reconciled::unknown("never happened");
  }
  model(process, run_of(process)).undo_settled(effect, entry->undone);
  return entry->undone ? Reconciled::done() : Reconciled::not_done();
}

}  // namespace triage::campaign
