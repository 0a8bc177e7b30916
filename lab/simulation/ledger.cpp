// SPDX-License-Identifier: MIT
#include "lab/simulation/ledger.hpp"

#include "triage/json.hpp"

namespace triage::inline v0_1::lab::detail {
namespace {

bool same(const Record& a, const Record& b) {
  if (a.kind() != b.kind() || a.time() != b.time()) return false;
  std::string one;
  std::string other;
  a.encode_body(one);
  b.encode_body(other);
  return one == other;
}

}  // namespace

int Ledger::perform(const EffectCall& call, EffectSemantics semantics) {
  Effect& effect = effects_[call.idempotency_key];
  effect.key = call.key;
  effect.once = semantics == EffectSemantics::at_most_once;
  return ++effect.times;
}

Reconciled Ledger::reconcile(const EffectCall& call) const {
  const auto found = effects_.find(call.idempotency_key);
  if (found == effects_.end() || found->second.times == 0) return Reconciled::not_done();
  return Reconciled::done(found->second.times);
}

void Ledger::acknowledge(const std::string& store, const RunId& run,
                         std::span<const Record> records) {
  auto& known = acknowledged_[{store, run}];
  for (const Record& record : records) known.insert_or_assign(record.seq(), record);
}

void Ledger::forget(const std::string& store, const RunId& run) {
  acknowledged_.erase({store, run});
}

std::vector<RunId> Ledger::runs_in(const std::string& store) const {
  std::vector<RunId> runs;
  for (const auto& [run, records] : acknowledged_) {
    if (run.first == store) runs.push_back(run.second);
  }
  return runs;
}

std::string Ledger::doubled_effects() const {
  for (const auto& [idempotency_key, effect] : effects_) {
    if (effect.once && effect.times > 1) {
      return "effect \"" + printable(effect.key) + "\" happened " + std::to_string(effect.times) +
             " times under one idempotency key";
    }
  }
  return {};
}

std::string Ledger::lost_records(const Stores& stores) const {
  for (const auto& [run, records] : acknowledged_) {
    const auto reading = stores.at(run.first)->read(run.second, {});
    if (!reading) return "run " + run.second + ": " + reading.error().detail;
    std::map<Sequence, const Record*> stored;
    for (const Record& record : reading.value().records) stored[record.seq()] = &record;
    for (const auto& [seq, record] : records) {
      const auto found = stored.find(seq);
      if (found == stored.end() || !same(*found->second, record)) {
        return "run " + run.second + ", record " + std::to_string(seq) + " (" +
               std::string(to_string(record.kind())) + ") was acknowledged and is " +
               (found == stored.end() ? "not there" : "another one");
      }
    }
  }
  return {};
}

}  // namespace triage::inline v0_1::lab::detail
